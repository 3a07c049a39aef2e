"""A reader of what heuristics write: texts of two worlds, checks of each sentence, and a page of samples."""
