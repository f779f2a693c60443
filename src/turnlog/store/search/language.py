"""What a query is, once it is understood: a tree of terms and filters.

`parsing` makes it from text, `printing` writes it again, `matcher` holds it against passages, and an engine
reads it to propose some. Whatever stands side by side must all be true of one passage.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from types import MappingProxyType

from msgspec import Struct

__all__ = [
    "CHOICES",
    "FILTERS",
    "And",
    "Filter",
    "Form",
    "Node",
    "Not",
    "Or",
    "Query",
    "Term",
    "join_and",
    "join_or",
    "list_terms",
    "negate",
]


class Form(StrEnum):
    """Where a needle may begin and end. Only letters, digits and marks on them make words."""

    __hash__ = str.__hash__  # that of enums is written in Python

    WORD = "word"
    """A whole word."""
    PREFIX = "prefix"
    """From the beginning of a word on."""
    SUFFIX = "suffix"
    """Up to the end of a word."""
    SUBSTRING = "substring"
    """Anywhere."""
    PHRASE = "phrase"
    """As quoted: it breaks no word at its ends, and any white space is as good as any other."""

    @property
    def begins_word(self) -> bool:
        """Whether a letter at its beginning must begin a word."""
        return self is not Form.SUFFIX and self is not Form.SUBSTRING

    @property
    def ends_word(self) -> bool:
        """Whether a letter at its end must end a word."""
        return self is not Form.PREFIX and self is not Form.SUBSTRING


class Term(Struct, frozen=True, gc=False):
    """Something to look for in the text."""

    needle: str
    """As it was written, not normalised."""
    form: Form
    at: int = 0
    """Where in the query it stands, in characters."""


class Filter(Struct, frozen=True, gc=False):
    """What must be true of where a text stands: one of some values."""

    name: str
    values: tuple[str, ...]
    at: int = 0
    instant: int | None = None
    """Of `after` and `before`: microseconds since 1970."""


class Not(Struct, frozen=True):
    """Whatever its part is not true of."""

    part: Node


class And(Struct, frozen=True):
    """All of its parts."""

    parts: tuple[Node, ...]


class Or(Struct, frozen=True):
    """Any of its parts."""

    parts: tuple[Node, ...]


Node = Term | Filter | Not | And | Or


class Query(Struct, frozen=True):
    """What to find."""

    root: Node
    case: bool = False
    """Whether capitals differ from small letters."""
    accents: bool = False
    """Whether letters differ from those with accents."""


FILTERS = (
    "project",
    "session",
    "tool",
    "model",
    "role",
    "category",
    "branch",
    "person",
    "machine",
    "file",
    "kind",
    "agent",
    "is",
    "after",
    "before",
)
"""The names of filters, besides `case` and `accents`, which are about the whole query."""

CHOICES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "role": ("user", "assistant", "tool_use", "tool_result", "system", "progress", "summary"),
        "category": (
            "skill",
            "mcp",
            "builtin",
            "agent",
            "hook",
            "hook_progress",
            "error",
            "system",
            "snapshot",
            "queue",
        ),
        "kind": (
            "prompt",
            "answer",
            "thinking",
            "tool-input",
            "tool-output",
            "summary",
            "notice",
            "title",
            "hook",
        ),
        "is": ("error", "sidechain"),
        "case": ("yes", "no"),
        "accents": ("yes", "no"),
    }
)
"""What filters may say that know only so many words; written out, so that parsing needs nothing else."""


def join_and(parts: list[Node]) -> Node:
    """Return what is true if all parts are: one part by itself, and no conjunction inside another."""
    flat = [inner for part in parts for inner in (part.parts if isinstance(part, And) else (part,))]
    return flat[0] if len(flat) == 1 else And(tuple(flat))


def join_or(parts: list[Node]) -> Node:
    """Return what is true if any part is: one part by itself, and no disjunction inside another."""
    flat = [inner for part in parts for inner in (part.parts if isinstance(part, Or) else (part,))]
    return flat[0] if len(flat) == 1 else Or(tuple(flat))


def negate(part: Node) -> Node:
    """Return what is true if a part is not."""
    return part.part if isinstance(part, Not) else Not(part)


def list_terms(node: Node, *, positive_only: bool = False) -> list[Term]:
    """Return the terms of a tree, in order; `positive_only` leaves out those that must not be there."""
    return [term for term, positive in _walk(node, True) if positive or not positive_only]


def _walk(node: Node, positive: bool) -> Iterator[tuple[Term, bool]]:
    if isinstance(node, Term):
        yield node, positive
    elif isinstance(node, Not):
        yield from _walk(node.part, not positive)
    elif isinstance(node, And | Or):
        for part in node.parts:
            yield from _walk(part, positive)
