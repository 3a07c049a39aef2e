"""The gateway: the protocol for hosts in any language, over HTTP.

Imports no other room of `cogitate.ops`; `cogitate.hosting.protocol` has the messages and the runs. Listens, checks
tokens and sizes before it reads a message, and uses the clock for timeouts only.
"""
