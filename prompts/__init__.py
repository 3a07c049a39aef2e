"""Prompt templates (one file each, `*.j2`) and the classes of their answers."""
