"""From values to text for people: one module for each thing that is shown."""

__all__: list[str] = []
