"""The auditor: every invariant that can be seen in a ledger, its streams and its journal."""
