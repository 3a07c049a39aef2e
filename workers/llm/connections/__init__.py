"""Transport of requests: a pool of HTTP connections on one event loop, whose answers are told apart."""
