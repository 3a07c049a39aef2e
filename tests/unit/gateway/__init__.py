"""The gateway and the pipe: the protocol for hosts in any language."""
