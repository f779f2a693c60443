"""A call as the API tells it: what its row says, and with its body what its lines say."""

from __future__ import annotations

from msgspec import Raw
from msgspec.structs import replace

from turnlog.server.shapes.calls import Call, CallResult, Image
from turnlog.server.views.images import has_bytes, view_image
from turnlog.server.views.limits import LONGEST_SHOWN, cut, cut_json, head_of, say, sayable
from turnlog.server.views.moments import moment, took_ms
from turnlog.server.views.offloaded import OffloadedResults
from turnlog.store.rows import CallRow
from turnlog.transcripts.calls.call import Call as BuiltCall
from turnlog.transcripts.calls.results import CallState, Result
from turnlog.transcripts.calls.topics import topic_of
from turnlog.transcripts.lines.categories import Category

__all__ = ["view_call", "view_row"]


def view_row(row: CallRow) -> Call:
    """Return a call without its body."""
    return Call(
        index=row.index,
        source=row.source,
        uuid=None,
        id=say(row.id),
        name=sayable(row.name),
        category=Category(row.category),
        state=CallState(row.state),
        title="",
        path=say(row.path),
        changes_file=row.changes_file,
        message=row.message,
        agent_id=say(row.agent_id),
        started_at=moment(row.started),
        ended_at=moment(row.ended),
        duration_ms=took_ms(row.started, row.ended),
    )


def view_call(
    row: CallRow, call: BuiltCall, session: str, project: str | None, offloaded: OffloadedResults
) -> Call:
    """Return a call with its body; `session` is the key by which images are asked for.

    Its state is the row's: what the call's own lines do not tell (how a background task ended) is in it.
    """
    given = call.block.input
    return replace(
        view_row(row),
        uuid=say(call.extracted_id),
        title=head_of(topic_of(call.name, given, project)),
        input=cut_json(given) if isinstance(given, Raw) else None,
        result=None if call.result is None else _view_result(call.result, row, session, offloaded),
    )


def _view_result(result: Result, row: CallRow, session: str, offloaded: OffloadedResults) -> CallResult:
    text, truncated = cut(result.text, LONGEST_SHOWN)
    return CallResult(
        text=text,
        truncated=truncated,
        length=len(result.text),
        is_error=result.is_error if isinstance(result.is_error, bool) else None,
        images=_list_images(result, session, row),
        offloaded=offloaded.find(result.offloaded_path),
        details=cut_json(result.display) if isinstance(result.display, Raw) else None,
    )


def _list_images(result: Result, session: str, row: CallRow) -> tuple[Image, ...]:
    at, line = row.result_at, result.place.line
    return (
        ()
        if at is None
        else tuple(view_image(image, line, session, at) for image in result.images if has_bytes(image))
    )
