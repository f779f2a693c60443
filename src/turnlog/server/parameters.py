"""Parameters that several routes take, each with its limits and what it means; unknown ones are refused."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Annotated, Any, TypeAlias

from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler
from litestar.params import PathParameter, QueryParameter

from turnlog.server.errors import RequestError
from turnlog.server.shapes.errors import ErrorDetail
from turnlog.transcripts.conversation.message import Lane
from turnlog.transcripts.lines.kinds import Category, Role

LARGEST = 1 << 53
"""The largest number that all who read JSON read alike; the store takes no larger ones than 64 bits."""
FROM_ZERO: dict[str, Any] = {"minimum": 0}
"""Litestar leaves a minimum out of the schema if it is 0."""

NamedSession: TypeAlias = Annotated[
    str,
    PathParameter(
        description="A session: its key, its id, or a beginning of either that no other has, of 4 characters "
        "or more."
    ),
]
NamedSource: TypeAlias = Annotated[
    str, PathParameter(description="A file of the session: the `source` of its content.")
]
Counted: TypeAlias = Annotated[
    int, PathParameter(ge=0, le=LARGEST, description="Counted from 0.", schema_extra=FROM_ZERO)
]
Source: TypeAlias = Annotated[
    str | None,
    QueryParameter(
        max_length=200,
        description="The file of the session, as `source` of a message or an agent; its transcript by default.",
    ),
]
Limit: TypeAlias = Annotated[int, QueryParameter(ge=1, le=500, description="The maximum number of items.")]
Cursor: TypeAlias = Annotated[
    int,
    QueryParameter(
        ge=0,
        le=LARGEST,
        description="Where to continue: `next` from the previous response.",
        schema_extra=FROM_ZERO,
    ),
]
Text: TypeAlias = Annotated[str | None, QueryParameter(max_length=500)]

# What windows of a conversation are asked for with.
AgentId: TypeAlias = Annotated[
    str | None, QueryParameter(max_length=200, description="The id of a sub-agent, for its messages.")
]
Around: TypeAlias = Annotated[
    str | None,
    QueryParameter(
        max_length=200,
        description="The middle of the window: a message's uuid or index, or `end`. A uuid is searched for "
        "in all files of the session, unless one is given.",
    ),
]
Before: TypeAlias = Annotated[
    int | None,
    QueryParameter(
        ge=0,
        le=LARGEST,
        description="Only messages above this index: `before` of a window.",
        schema_extra=FROM_ZERO,
    ),
]
After: TypeAlias = Annotated[
    int | None,
    QueryParameter(ge=-1, le=LARGEST, description="Only messages below this index: `after` of a window."),
]
WindowLimit: TypeAlias = Annotated[
    int, QueryParameter(ge=1, le=200, description="The maximum number of messages.")
]
Lanes: TypeAlias = Annotated[
    list[Lane] | None,
    QueryParameter(
        max_items=20, description="`main` for the conversation, `tool` for actions, `agent` for sub-agents."
    ),
]
Roles: TypeAlias = Annotated[
    list[Role] | None, QueryParameter(max_items=20, description="Their role in the conversation.")
]
Categories: TypeAlias = Annotated[
    list[Category] | None, QueryParameter(max_items=20, description="The category of the action or event.")
]
BranchNumber: TypeAlias = Annotated[
    int | None,
    QueryParameter(ge=0, le=LARGEST, description="The number of a branch of the tree.", schema_extra=FROM_ZERO),
]
Active: TypeAlias = Annotated[
    bool | None, QueryParameter(description="Whether they are on the way to the newest message.")
]

ANY_PARAMETERS = {"any_parameters": True}
"""For routes whose address others make, who may add parameters of their own."""
_KNOWN = "known_parameters"
_LONGEST_NAME = 50
_MOST_NAMED = 10


async def refuse_unknown(connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> None:
    """Raise `RequestError` for parameters that a route does not take; Litestar asks before each handler."""
    opt = handler.opt
    if not connection.scope["query_string"] or opt.get("any_parameters"):
        return
    if _KNOWN not in opt:  # worked out once for each route
        model = handler.create_kwargs_model(path_parameters=connection.path_params)
        opt[_KNOWN] = sorted({each.field_alias for each in model.expected_query_params})
    known: list[str] = opt[_KNOWN]
    unknown = [name for name in dict.fromkeys(connection.query_params.keys()) if name not in known]
    if not unknown:
        return
    details = tuple(ErrorDetail(where=_say(name), message=_explain(name, known)) for name in unknown)
    there = ", ".join(known) if known else "no parameters"
    raise RequestError(
        400,
        "unknown_parameter",
        f"{details[0].message}. This address takes {there}",
        details=details[:_MOST_NAMED],
    )


def _explain(name: str, known: Sequence[str]) -> str:
    plain = {each.replace("_", ""): each for each in known}
    close = get_close_matches(re.sub(r"[\W_]", "", name.lower())[:_LONGEST_NAME], plain, n=1)
    hint = f" (did you mean `{plain[close[0]]}`?)" if close else ""
    return f"There is no parameter `{_say(name)}` here{hint}"


def _say(name: str) -> str:
    """Return a name as JSON can have it, and not the whole of a very long one."""
    return name[:_LONGEST_NAME].encode("utf-8", "replace").decode()


def find_next(cursor: int, items: Sequence[object], total: int) -> str | None:
    """Return where to go on behind some things; None at the end."""
    end = cursor + len(items)
    return str(end) if items and end < total else None
