"""The command line, reports, estimates, load tests, the stand-in endpoint, the gateway and Flower's pages.

May import every package; no other package imports it. Talks to users: reads options and files, prints, listens on
loopback. Reads runs through `cogitate.scheduler`'s stores, never by their keys in Redis.
"""
