"""Transport of requests: a pool of HTTP connections on one event loop that never mixes up answers."""
