"""`cogitate doctor`: checks everything that runs need, and names a remedy for each problem.

May import the rooms of `cogitate.ops` below it, such as `formatting`, and every package. Reads settings, Redis, the
broker and endpoints; changes nothing, and calls no model.
"""
