"""A session as a row of the lists."""

from __future__ import annotations

import os
from decimal import Decimal

import msgspec
from msgspec.structs import replace

from turnlog.store.model import SessionHead, SessionRow
from turnlog.transcripts.segment_builder import bounded, microseconds, money
from turnlog.transcripts.session import Session
from turnlog.transcripts.summary import Summary

_encode = msgspec.json.Encoder().encode
_LONGEST_PROMPT = 1000
"""Characters; lists show fewer."""


def build_session(session: Session, head: SessionHead | None) -> SessionRow:
    """Return the row of a session in the lists."""
    summary = session.summary
    counts, tokens = summary.counts, summary.totals.tokens
    return SessionRow(
        session_id=summary.id,
        title=None if summary.title is None else summary.title.text,
        project=summary.project,
        first_time=microseconds(summary.first_time),
        last_time=microseconds(summary.last_time),
        prompts=counts.prompts,
        answers=counts.answers,
        calls=counts.calls,
        agents=len(session.agents),
        lines=counts.lines,
        problems=session.count_problems(),
        input_tokens=bounded(tokens.prompt),
        output_tokens=bounded(tokens.output),
        cost=None if _is_unpriced(summary) else money(summary.cost or Decimal(0)),
        summary=_encode_summary(summary),
        messages=len(session.conversation.live_messages),
        errors=counts.failed_calls + counts.api_errors,
        models=summary.models,
        branches=summary.branches,
        series=summary.series,
        first_prompt=None if summary.first_prompt is None else summary.first_prompt[:_LONGEST_PROMPT],
        forked_from=summary.forked_from,
        is_floor=bool(summary.totals.incomplete) or any(each.cost is None for each in summary.model_totals),
        is_estimate=bool(summary.unpriced_terms),
        head=head,
    )


def _encode_summary(summary: Summary) -> bytes:
    try:
        return _encode(summary)
    except UnicodeEncodeError:  # a project that is known by its folder alone, whose name is no UTF-8
        project = os.fsencode(summary.project or "").decode("utf-8", "replace")
        return _encode(replace(summary, project=project))


def _is_unpriced(summary: Summary) -> bool:
    """Tell whether something was used, and nothing of it has a price."""
    return bool(summary.model_totals) and all(each.cost is None for each in summary.model_totals)
