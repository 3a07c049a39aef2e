"""Memory policies: stream, cells and token window, and how a stream is kept within its limits."""
