"""Sub-agents and workflows, attached to the calls that started them."""

__all__: list[str] = []
