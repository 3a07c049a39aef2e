"""Further pages in Flower: Cogitate shows all runs at a glance, Budgets what a run spends, Cadence what it waits for,
Charts both over time, and a page for each job its life.
"""
