"""What English words mean: themes, and how frequent a word is."""
