"""Experiments: the same run under several conditions, several times each, on shared workers, within one limit."""
