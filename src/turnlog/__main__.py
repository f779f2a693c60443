"""`python -m turnlog` is the command `turnlog`."""

from turnlog.cli import main

__all__: list[str] = []

if __name__ == "__main__":
    main()
