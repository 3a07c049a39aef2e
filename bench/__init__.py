"""Measurements: `python -m bench NAME`. Each prints tables that compare our figures with published ones."""
