"""Latencies of models, learned during a run, and the due ticks that follow from them."""
