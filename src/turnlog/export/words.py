"""What readers are told in words: who speaks, what came of a call, what it was about."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from turnlog.export.plain import strip_colors
from turnlog.transcripts.calls.states import CallState
from turnlog.transcripts.lines.categories import Author

SPEAKERS: Mapping[Author, str] = MappingProxyType(
    {Author.HUMAN: "You", Author.CLAUDE: "Claude", Author.AGENT: "Agent", Author.SYSTEM: "System"}
)
STATES: Mapping[CallState, str] = MappingProxyType(
    {
        CallState.FAILED: "failed",
        CallState.INTERRUPTED: "interrupted",
        CallState.REJECTED: "not allowed",
        CallState.PLACEHOLDER: "continues in the background",
        CallState.UNRESOLVED: "no result",
    }
)
"""Of a call that went well, nothing is said."""
_LONGEST_TOPIC = 200


def shorten_topic(topic: str) -> str:
    """Return what a call is about, on one line that is not too long."""
    line = " ".join(strip_colors(topic).split())
    return line if len(line) <= _LONGEST_TOPIC else line[: _LONGEST_TOPIC - 1] + "…"
