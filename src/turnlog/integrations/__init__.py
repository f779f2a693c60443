"""At home in other people's programs. Each integration needs its own extra."""

__all__: list[str] = []
