"""The control database: who may come in, by what, and what they did.

It is apart from the sessions, so that engines which are bad at small rows need not keep it.
"""

__all__: list[str] = []
