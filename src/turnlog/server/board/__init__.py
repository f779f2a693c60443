"""Mission control: who works, who waits for the person, and why."""

__all__: list[str] = []
