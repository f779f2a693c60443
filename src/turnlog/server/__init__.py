"""Showing it: the HTTP API and the page, on Litestar."""
