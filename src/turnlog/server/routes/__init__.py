"""What can be asked, one module for each resource; `table.py` lists them all."""

__all__: list[str] = []
