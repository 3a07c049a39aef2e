"""Packed calls."""
