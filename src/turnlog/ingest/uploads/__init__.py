"""What machines push, and how a server makes batches of it as a sync of that machine would."""

__all__: list[str] = []
