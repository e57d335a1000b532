"""`python -m runax_cli`: the command `runax` where its script is not on the path."""

from runax_cli.cli import main

if __name__ == "__main__":
    main()
