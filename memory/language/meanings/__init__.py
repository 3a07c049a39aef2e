"""Meanings of English words: themes, and frequencies."""
