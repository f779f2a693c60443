"""What a question offers, as it stands in the input of the call that asks it."""

from __future__ import annotations

import msgspec
from msgspec import Raw, Struct

from turnlog.transcripts.hooks.details import read_fields

__all__ = ["Asked", "read_question"]

_MOST = 10
_LONGEST = 200


class Asked(Struct, frozen=True, gc=False):
    """A question, and the answers to choose from."""

    question: str | None = None
    options: tuple[str, ...] = ()


class _Option(Struct):
    label: str = ""


class _Question(Struct):
    question: str = ""
    options: tuple[_Option, ...] = ()


def read_question(given: bytes | Raw | None) -> Asked:
    """Return the first question of an input; nothing if it has none, or is of another form."""
    questions = read_fields(given or b"").get("questions")
    if questions is None:
        return Asked()
    try:
        found = msgspec.json.decode(questions, type=list[_Question])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return Asked()
    first = next(iter(found), _Question())
    labels = (" ".join(option.label.split())[:_LONGEST] for option in first.options[:_MOST])
    return Asked(first.question or None, tuple(filter(None, labels)))
