"""Routing: which memory an event updates; repeats, scopes and shared history."""
