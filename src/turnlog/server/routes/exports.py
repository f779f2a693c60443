"""`/api/export`: sessions as files.

Each session is rendered from one state of the store, and sent when it is finished. What is large is put into a
temporary file meanwhile, so that none is in memory as a whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from tempfile import SpooledTemporaryFile
from typing import Annotated, Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from litestar import Response, get
from litestar.di import NamedDependency, Provide
from litestar.params import SkipValidation
from litestar.response import Stream
from msgspec import Struct

from turnlog.errors import SelectionError
from turnlog.export.conversation import Selection, select
from turnlog.export.files import name_file, name_files, read_summary
from turnlog.export.formats import Format, render_session
from turnlog.export.redaction import RedactionRules, Redactor
from turnlog.export.secret_patterns import Kind
from turnlog.ingest.copies import list_shared
from turnlog.server.audit import GivenRequester, Requester
from turnlog.server.errors import InvalidRequestError
from turnlog.server.requests import GivenContext, integer, query
from turnlog.server.security.gate import UNTRUSTED_POLICY
from turnlog.server.sessions import name_session
from turnlog.server.values import clean_text
from turnlog.store.account_model import Action
from turnlog.store.lists import StoredSession


class RedactedKind(Struct, frozen=True, gc=False, kw_only=True):
    """Removed values of one kind."""

    kind: Kind
    times: int
    values: int
    """How many distinct ones."""
    examples: tuple[str, ...]
    """A few of them; for secrets, only the beginning."""


class ExportPreview(Struct, frozen=True, gc=False, kw_only=True):
    """What an export would be."""

    name: str
    """The file's name."""
    sessions: int
    size: int
    """In bytes; for several sessions, the total before compression."""
    redacted: tuple[RedactedKind, ...]
    """By kind; empty if nothing is removed."""


_MEDIA_TYPES = {
    Format.HTML: "text/html; charset=utf-8",
    Format.MARKDOWN: "text/markdown; charset=utf-8",
    Format.JSON: "application/json",
    Format.JSONL: "application/x-ndjson",
    Format.CSV: "text/csv; charset=utf-8",
}
_EXAMPLES = 3
_LONGEST_EXAMPLE = 60
_SHOWN_OF_SECRET = 6
_OPEN_KINDS = frozenset({Kind.EMAIL, Kind.HOME, Kind.USER, Kind.WORD})
"""What may stand on a screen: it says who and where somebody is, and lets nobody in."""
_PACKED = 1 << 18
"""Pieces are sent when there is so much of them."""
_SPOOLED = 1 << 20
"""What is longer is put into a temporary file."""


class ExportRequest(Struct, frozen=True, kw_only=True):
    """What is to be given out, and how."""

    form: Format
    selection: Selection
    rules: RedactionRules | None
    """None if nothing is to be taken out."""
    camel: bool = True


def _name_export(sessions: Sequence[StoredSession], export: ExportRequest) -> str:
    """Return what the file is called."""
    if len(sessions) == 1:
        return name_file(_name(sessions[0]), export.form)
    return name_file(f"{len(sessions)}-sessions-{export.form}", "zip")


def render(requester: Requester, sessions: Sequence[StoredSession], export: ExportRequest) -> Iterator[bytes]:
    """Return the bytes of the file, the first of which are made at once; raises `RequestError`.

    Several sessions come in a ZIP file. What fails later breaks off, so that nobody takes a part for the whole.
    """
    if len(sessions) == 1:
        pieces = _spool(_render(requester, sessions[0], export, _build_redactor(export)))
    else:
        pieces = _zip(requester, sessions, export)
    return chain((next(pieces, b""),), pieces)


def _preview(requester: Requester, sessions: Sequence[StoredSession], export: ExportRequest) -> ExportPreview:
    """Return what an export would be, and what it would take out; raises `RequestError`."""
    size = 0
    redactions = _Redactions()
    for session in sessions:
        redactor = _build_redactor(export)
        size += sum(map(len, _render(requester, session, export, redactor)))
        if redactor is not None:
            redactions.add(redactor)
    return ExportPreview(
        name=_name_export(sessions, export), sessions=len(sessions), size=size, redacted=redactions.list()
    )


class _Redactions:
    """What was taken out of sessions, together."""

    def __init__(self) -> None:
        self._times: Counter[Kind] = Counter()
        self._values: dict[Kind, dict[str, None]] = {}

    def add(self, redactor: Redactor) -> None:
        for each in redactor.replaced:
            self._times[each.kind] += each.times
            self._values.setdefault(each.kind, {}).update(dict.fromkeys(redactor.list_values(each.kind)))

    def list(self) -> tuple[RedactedKind, ...]:
        return tuple(
            RedactedKind(
                kind=kind,
                times=self._times[kind],
                values=len(values),
                examples=tuple(_show(kind, value) for value in tuple(values)[:_EXAMPLES]),
            )
            for kind in Kind
            if (values := self._values.get(kind))
        )


def _show(kind: Kind, value: str) -> str:
    """Return what may be shown of a value."""
    line = " ".join(clean_text(value).split())
    most = _LONGEST_EXAMPLE if kind in _OPEN_KINDS else min(_SHOWN_OF_SECRET, len(line) // 3)
    return line if len(line) <= most else f"{line[:most]}…"


def _render(
    requester: Requester, stored: StoredSession, export: ExportRequest, redactor: Redactor | None
) -> Iterator[bytes]:
    store, scope = requester.store, requester.visible
    summary = read_summary(store, scope, stored)
    with store.open_session(scope, stored.key) as session:
        try:
            select(session, export.selection)
        except SelectionError as error:
            text = str(error)
            raise InvalidRequestError(text[:1].upper() + text[1:]) from None
        yield from render_session(
            session,
            summary,
            export.form,
            selection=export.selection,
            redactor=redactor,
            name=stored.marks.name,
            camel=export.camel,
            shared=list_shared(store, scope, stored) if export.form is Format.JSON else (),
        )


def _spool(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield pieces once all are made: sending them is slow, and happens in other threads."""
    with SpooledTemporaryFile(_SPOOLED) as spool:
        spool.writelines(pieces)
        spool.seek(0)
        while data := spool.read(_PACKED):
            yield data


def _build_redactor(export: ExportRequest) -> Redactor | None:
    return None if export.rules is None else Redactor(export.rules)


class _ZipBuffer:
    """A file that can only be written to, and hands on what was."""

    def __init__(self) -> None:
        self._written: list[bytes] = []
        self.size = 0

    def write(self, data: bytes) -> int:
        self._written.append(bytes(data))
        self.size += len(data)
        return len(data)

    def flush(self) -> None:
        """Do nothing: what is written is handed on when it is taken."""

    def take(self) -> bytes:
        data = b"".join(self._written)
        self._written.clear()
        self.size = 0
        return data


def _zip(requester: Requester, sessions: Sequence[StoredSession], export: ExportRequest) -> Iterator[bytes]:
    buffer = _ZipBuffer()
    with ZipFile(buffer, "w", ZIP_DEFLATED) as archive:  # type: ignore[call-overload]
        for session, name in zip(sessions, name_files(map(_name, sessions), export.form), strict=True):
            entry = ZipInfo(name)
            entry.compress_type = ZIP_DEFLATED
            entry.external_attr = 0o600 << 16
            with archive.open(entry, "w", force_zip64=True) as file:
                for piece in _spool(_render(requester, session, export, _build_redactor(export))):
                    file.write(piece)
                    if buffer.size >= _PACKED:
                        yield buffer.take()
    yield buffer.take()


def _name(session: StoredSession) -> str:
    return session.marks.name or name_session(session)


_MOST = 500
_Ids = Annotated[
    list[str],
    query("Sessions: keys, ids, or the beginning of either.", min_items=1, max_items=_MOST),
]
_GivenExport = NamedDependency[SkipValidation[ExportRequest]]


def _build_export(
    context: GivenContext,
    form: Annotated[Format, query("The format.", name="format")] = Format.HTML,
    first_turn: Annotated[int | None, integer("The first turn, from 1.", least=1)] = None,
    last_turn: Annotated[int | None, integer("The last turn, from 1.", least=1)] = None,
    branch: Annotated[int | None, integer("Only this branch, and what leads to it.")] = None,
    thinking: Annotated[bool, query("Include thinking.")] = True,
    tool_output: Annotated[bool, query("Include tool output.")] = True,
    agents: Annotated[bool, query("Include sub-agents.")] = True,
    redact: Annotated[bool, query("Remove secrets, and anything that says who or where you are.")] = True,
    word: Annotated[list[str] | None, query("Words to remove as well.", max_items=100)] = None,
    snake: Annotated[bool, query("Fields of JSON documents as the API writes them.")] = False,
) -> ExportRequest:
    if first_turn is not None and last_turn is not None and first_turn > last_turn:
        raise InvalidRequestError("The first turn comes after the last one")
    words = (*context.redact_words, *(word or ()))
    return ExportRequest(
        form=form,
        selection=Selection(
            first_turn=first_turn,
            last_turn=last_turn,
            branch=branch,
            thinking=thinking,
            tool_output=tool_output,
            agents=agents,
        ),
        rules=RedactionRules(words=words) if redact else None,
        camel=not snake,
    )


_EXPORT: Mapping[str, Provide] = {"export": Provide(_build_export, sync_to_thread=False)}


@get("/api/export", dependencies=_EXPORT, sync_to_thread=True, media_type="*/*")
def export_sessions(id: _Ids, requester: GivenRequester, export: _GivenExport) -> Response[Any]:
    """Export sessions as a file; several of them as a ZIP file.

    The file is written while it is sent. If something fails meanwhile, the response is cut off.
    """
    sessions = _list_sessions(requester, id, export, Action.EXPORTED)
    name = _name_export(sessions, export).encode("ascii", "replace").decode().replace("?", "-")
    return Stream(
        render(requester, sessions, export),
        headers={
            # Of a stream, Litestar would say what the route says.
            "content-type": _MEDIA_TYPES[export.form] if len(sessions) == 1 else "application/zip",
            "content-security-policy": UNTRUSTED_POLICY,
            "content-disposition": f'attachment; filename="{name}"',
            "cache-control": "no-store",
        },
    )


@get("/api/export/preview", dependencies=_EXPORT, sync_to_thread=True)
def preview_export(id: _Ids, requester: GivenRequester, export: _GivenExport) -> ExportPreview:
    """Return what an export would be called, how large it would be, and what would be removed from it."""
    sessions = _list_sessions(requester, id, export, Action.VIEWED)
    return _preview(requester, sessions, export)


def _list_sessions(
    requester: Requester, ids: list[str], export: ExportRequest, action: Action
) -> list[StoredSession]:
    named = (requester.get_session(each, action) for each in ids)
    found = {session.key: session for session in named}
    if len(found) > 1 and export.selection.is_part:
        raise InvalidRequestError("Turns and branches can only be chosen for a single session")
    return list(found.values())
