"""The commands of `cogitate`; related commands share a module.

May import every room of `cogitate.ops` except `cli`, and every package. A command reads options, opens the state, calls
the room that does the work, prints results to stdout and everything else to stderr, and returns an exit code.
"""
