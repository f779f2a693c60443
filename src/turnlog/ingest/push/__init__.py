"""A machine that keeps a server up to date with its sessions and hook events."""

__all__: list[str] = []
