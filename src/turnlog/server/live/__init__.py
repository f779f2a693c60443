"""What happens, told while it happens: one reader of the feed for all who listen."""

__all__: list[str] = []
