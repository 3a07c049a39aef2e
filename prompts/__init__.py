"""Prompt templates (one file each, `*.j2`) and the answers they promise."""
