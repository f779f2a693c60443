"""What hook events mean: how each is told, and what it says about the agent's state."""

__all__: list[str] = []
