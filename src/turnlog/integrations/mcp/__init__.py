"""What was done before, for whoever works now: the archive over the Model Context Protocol, to be read only."""

__all__: list[str] = []
