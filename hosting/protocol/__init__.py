"""The protocol for hosts in any language: what they may send, what they get, and the runs that are open for them."""
