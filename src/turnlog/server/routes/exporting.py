"""`/api/export`: sessions as files to read, to share, or to go on with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from litestar import Response, get
from litestar.di import NamedDependency, Provide
from litestar.params import QueryParameter, SkipValidation
from litestar.response import Stream

from turnlog.export.conversation import Selection
from turnlog.export.formats import Format
from turnlog.export.redaction import RedactionRules
from turnlog.server.auditing import GivenVisit, Visit
from turnlog.server.dependencies import GivenScope, GivenStore
from turnlog.server.errors import InvalidRequestError
from turnlog.server.finding import get_session
from turnlog.server.parameters import FROM_ZERO, LARGEST
from turnlog.server.security.headers import UNTRUSTED_POLICY
from turnlog.server.shapes.exporting import ExportPreview
from turnlog.server.surroundings import GivenSurroundings
from turnlog.server.views.exporting import MEDIA_TYPES, Wanted, name_export, preview, render
from turnlog.store.accounts.interface import Action
from turnlog.store.interface import CaredStore
from turnlog.store.lists import StoredSession
from turnlog.store.model import Scope

_MOST = 500
_Ids = Annotated[
    list[str],
    QueryParameter(
        min_items=1, max_items=_MOST, description="Sessions: keys, ids, or the beginning of either."
    ),
]
_GivenWanted = NamedDependency[SkipValidation[Wanted]]


def _build_wanted(
    surroundings: GivenSurroundings,
    form: Annotated[Format, QueryParameter(name="format", description="The format.")] = Format.HTML,
    first_turn: Annotated[
        int | None, QueryParameter(ge=1, le=LARGEST, description="The first turn, from 1.")
    ] = None,
    last_turn: Annotated[
        int | None, QueryParameter(ge=1, le=LARGEST, description="The last turn, from 1.")
    ] = None,
    branch: Annotated[
        int | None,
        QueryParameter(
            ge=0,
            le=LARGEST,
            description="Only this branch, and what leads to it.",
            schema_extra=FROM_ZERO,
        ),
    ] = None,
    thinking: Annotated[bool, QueryParameter(description="Include thinking.")] = True,
    tool_output: Annotated[bool, QueryParameter(description="Include tool output.")] = True,
    agents: Annotated[bool, QueryParameter(description="Include sub-agents.")] = True,
    redact: Annotated[
        bool, QueryParameter(description="Remove secrets, and anything that says who or where you are.")
    ] = True,
    word: Annotated[
        list[str] | None, QueryParameter(max_items=100, description="Words to remove as well.")
    ] = None,
    snake: Annotated[
        bool, QueryParameter(description="Fields of JSON documents as the API writes them.")
    ] = False,
) -> Wanted:
    if first_turn is not None and last_turn is not None and first_turn > last_turn:
        raise InvalidRequestError("The first turn comes after the last one")
    words = (*surroundings.redact_words, *(word or ()))
    return Wanted(
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


_WANTED: Mapping[str, Provide] = {"wanted": Provide(_build_wanted, sync_to_thread=False)}


@get("/api/export", dependencies=_WANTED, sync_to_thread=True, media_type="*/*")
def export_sessions(
    id: _Ids, store: GivenStore, visible: GivenScope, visit: GivenVisit, wanted: _GivenWanted
) -> Response[Any]:
    """Export sessions as a file; several of them as a ZIP file.

    The file is written while it is sent. If something fails meanwhile, the response is cut off.
    """
    sessions = _list_sessions(store, visible, id, visit, wanted, Action.EXPORTED)
    name = name_export(sessions, wanted)
    return Stream(
        render(store, visible, sessions, wanted),
        headers={
            # Of a stream, Litestar would say what the route says.
            "content-type": MEDIA_TYPES[wanted.form] if len(sessions) == 1 else "application/zip",
            "content-security-policy": UNTRUSTED_POLICY,
            "content-disposition": f'attachment; filename="{_to_ascii(name)}"',
            "cache-control": "no-store",
        },
    )


@get("/api/export/preview", dependencies=_WANTED, sync_to_thread=True)
def preview_export(
    id: _Ids, store: GivenStore, visible: GivenScope, visit: GivenVisit, wanted: _GivenWanted
) -> ExportPreview:
    """Return what an export would be called, how large it would be, and what would be removed from it."""
    sessions = _list_sessions(store, visible, id, visit, wanted, Action.LOOKED)
    return preview(store, visible, sessions, wanted)


def _list_sessions(
    store: CaredStore, visible: Scope, ids: list[str], visit: Visit, wanted: Wanted, action: Action
) -> list[StoredSession]:
    named = (get_session(store, visible, each, visit, action) for each in ids)
    found = {session.key: session for session in named}
    if len(found) > 1 and wanted.selection.is_part:
        raise InvalidRequestError("Turns and branches can only be chosen for a single session")
    return list(found.values())


def _to_ascii(name: str) -> str:
    return name.encode("ascii", "replace").decode().replace("?", "-")


HANDLERS = (export_sessions, preview_export)
