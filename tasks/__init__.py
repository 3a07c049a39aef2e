"""One file per kind of job: when it is due, what it reads, its prompt, its effects, its heuristic."""
