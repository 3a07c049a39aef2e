"""`python -m cogitate.ops` is `cogitate`."""

from cogitate.ops.cli import main

main()
