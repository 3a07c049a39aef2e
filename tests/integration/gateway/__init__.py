"""The gateway as a process of its own, with a real server."""
