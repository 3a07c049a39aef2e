"""Kinds that a host declares with one class: cadences, choices of memories, and the kind made of them."""
