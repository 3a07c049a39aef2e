"""The auditor: checks every invariant that a ledger, its streams and its journal can show."""
