"""What heuristics write, read by machine: texts of two worlds, checks of each sentence, and a page of samples."""
