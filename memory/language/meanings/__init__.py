"""What English words mean: themes, words that are near in meaning, vectors."""
