"""English: its grammar, persons, pronouns and courtesies, by rules. Other rooms reach it through `language.port`."""
