"""What is done and what happens in a session, besides what is said: calls, and events that lines tell."""

__all__: list[str] = []
