"""Two pages more in Flower: what a run spends, and what it waits for."""
