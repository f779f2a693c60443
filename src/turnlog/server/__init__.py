"""Showing it: the HTTP API and the page, on Litestar."""

__all__: list[str] = []
