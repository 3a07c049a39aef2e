"""Packed calls: one request that thinks for several owners."""
