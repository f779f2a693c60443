"""Tool calls, with what came of them."""

__all__: list[str] = []
