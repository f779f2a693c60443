"""`turnlog run`: a conversation with the program at the terminal."""

__all__: list[str] = []
