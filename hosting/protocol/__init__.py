"""The protocol for hosts in any language: their messages, the answers, and the runs that they have open.

May import every package except `simulation` and `ops`. Checks each message once, on reading it. `stdio` serves a pipe;
HTTP is in `cogitate.ops.gateway`. Opens runs and threads through `cogitate.hosting`.
"""
