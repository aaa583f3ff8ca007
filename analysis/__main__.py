"""`python -m analysis` is the command `fltheory`."""

from analysis.cli import main

if __name__ == "__main__":
    main()
