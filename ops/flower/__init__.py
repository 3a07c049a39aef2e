"""Two further pages in Flower: Budgets shows what a run spends, Cadence what it waits for."""
