"""python -m neuraltrees: the command line."""

from neuraltrees.cli import main

main()
