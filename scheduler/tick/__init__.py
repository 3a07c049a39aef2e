"""The tick loop: the engine with its ledger, its clock and its host; commits, restores, trims and leaves a run."""
