"""The protocol for hosts in any language: their messages, the answers, and the runs that they have open.

May import every package except `simulation` and `ops`. Checks each message once, when it is read. HTTP itself lives in
`cogitate.ops.gateway`; `stdio` serves a pipe. Opens runs and threads through `cogitate.hosting`.
"""
