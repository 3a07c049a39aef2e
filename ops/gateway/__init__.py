"""The gateway: the protocol for hosts in any language, over HTTP."""
