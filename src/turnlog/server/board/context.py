"""How much fits into a model's context, and where Claude Code begins to compact it.

The window is that of the price list (`genai-prices` has it for each model). Claude Code runs models that can
have a million tokens with 200,000 unless asked for more (`opus[1m]`), and transcripts name the model without
that. So of such a model the limit is known only where the session shows it: by more tokens than the smaller
window holds, or by a name with `[1m]`. Otherwise it is unknown, and nothing is said.

Automatic compaction begins 33,000 tokens before the end (20,000 for the answer and 13,000 of reserve): sessions
of 2026 show it at 167,000 of 200,000 and 967,000 of a million. Settings may put it earlier
(`autoCompactWindow`, `CLAUDE_AUTOCOMPACT_PCT_OVERRIDE`) or switch it off, which no transcript tells.
"""

from __future__ import annotations

from turnlog.transcripts.usage.prices import find_context_window

_USUAL, _LARGE = 200_000, 1_000_000
_MARK = "[1m]"
_RESERVE = 33_000


def find_limit(model: str | None, tokens: int | None) -> int | None:
    """Return how many tokens fit into a model's context, which has so many now; None if nobody knows."""
    if model is None:
        return None
    if model.endswith(_MARK):
        return _LARGE
    window = find_context_window(model)
    if window is None:
        return None
    is_large = (tokens or 0) > _USUAL
    if window > _USUAL:
        return window if is_large else None
    return None if is_large else window


def find_compaction(limit: int | None) -> int | None:
    """Return at how many tokens automatic compaction begins, unless settings say otherwise."""
    return None if limit is None else limit - _RESERVE
