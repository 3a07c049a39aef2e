"""Measurements: `python -m bench NAME`. Each prints tables with our figures beside published ones."""
