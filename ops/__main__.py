"""`python -m ops` is `cogitate`."""

from ops.cli import main

main()
