"""Summaries without a model: of clauses, of conversations, of an owner's long-term memory."""
