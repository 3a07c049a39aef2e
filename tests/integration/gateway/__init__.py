"""The gateway as a separate process with a real server."""
