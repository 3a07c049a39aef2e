"""Language: words, sentences, grammar, persons and times of English text, by rule and without a model."""
