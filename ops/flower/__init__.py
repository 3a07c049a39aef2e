"""Further pages in Flower: Cogitate (all runs), Budgets (a run's spending), Cadence (its queues), Charts (both over
time), and a page for each job.
"""
