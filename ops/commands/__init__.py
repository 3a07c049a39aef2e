"""The commands of `cogitate`, one module each, and what several of them share."""
