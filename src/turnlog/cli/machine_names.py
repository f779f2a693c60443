"""Which machines a name on the command line stands for."""

from __future__ import annotations

from collections.abc import Sequence

from turnlog.store.model import Machine


def find_machines(machines: Sequence[Machine], name: str) -> list[Machine]:
    """Return the machines that a name stands for: the beginning of an origin, or a host."""
    by_host = [each for each in machines if name and each.host == name]
    return by_host or [each for each in machines if name and each.origin.startswith(name)]
