"""Builds requests to endpoints: their address, dialect, schema and token cap."""
