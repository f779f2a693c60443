"""Behind `TurnlogSessionStore`: where its sessions are written to and read from."""

__all__: list[str] = []
