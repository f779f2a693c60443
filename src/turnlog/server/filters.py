"""Which sessions are meant: parameters that several routes take, made into what the store is asked.

@get(…, dependencies=SESSION_FILTER, sync_to_thread=True)
def list_sessions(store: GivenStore, visible: GivenScope, asked: GivenFilter, …)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from litestar.di import NamedDependency, Provide
from litestar.params import QueryParameter, SkipValidation

from turnlog.server.moments import parse_moment
from turnlog.server.security.callers import Caller, GivenCaller
from turnlog.store.lists import SessionFilter
from turnlog.store.model import Visibility

ME = "me"
"""Stands for whoever asks."""

GivenFilter = NamedDependency[SkipValidation[SessionFilter]]
"""Parameter `asked`: which sessions are meant."""


def build_filter(
    caller: GivenCaller,
    project: Annotated[
        str | None, QueryParameter(max_length=4000, description="The full path of the project.")
    ] = None,
    text: Annotated[
        str | None, QueryParameter(max_length=500, description="Part of the title; case is ignored.")
    ] = None,
    model: Annotated[
        str | None, QueryParameter(max_length=500, description="Part of the name of one of its models.")
    ] = None,
    branch: Annotated[
        str | None, QueryParameter(max_length=500, description="Part of the name of a git branch.")
    ] = None,
    tag: Annotated[
        list[str] | None, QueryParameter(max_items=20, description="Tags that it must have, all of them.")
    ] = None,
    person: Annotated[
        list[str] | None,
        QueryParameter(
            max_items=100,
            description="Their owner: any of these people. `me` is the caller, an empty name means no owner.",
        ),
    ] = None,
    machine: Annotated[
        list[str] | None, QueryParameter(max_items=100, description="The machine they come from: any of these.")
    ] = None,
    visibility: Annotated[Visibility | None, QueryParameter(description="Who sees them.")] = None,
    starred: Annotated[bool | None, QueryParameter(description="Only those with a star, or without.")] = None,
    archived: Annotated[
        bool, QueryParameter(description="Sessions hidden from lists, instead of the others.")
    ] = False,
    only_here: Annotated[
        bool | None, QueryParameter(description="Only those whose files exist nowhere else, or the others.")
    ] = None,
    errors: Annotated[
        bool | None, QueryParameter(description="Only those with failed calls or requests, or the others.")
    ] = None,
    problems: Annotated[
        bool | None,
        QueryParameter(description="Only those with wrong or unknown content in their lines, or the others."),
    ] = None,
    series: Annotated[
        str | None,
        QueryParameter(max_length=100, description="Those of one series: `series` of a session in a list."),
    ] = None,
    since: Annotated[
        str | None,
        QueryParameter(max_length=40, description="Active at this time or later: a date or a time, ISO 8601."),
    ] = None,
    until: Annotated[
        str | None,
        QueryParameter(max_length=40, description="Active before this time: a date or a time, ISO 8601."),
    ] = None,
) -> SessionFilter:
    """Return which sessions are meant; raises `InvalidRequestError` for a time that is none."""
    return SessionFilter(
        project=project,
        text=text,
        model=model,
        branch=branch,
        tags=tuple(tag or ()),
        persons=tuple(_name(each, caller) for each in person or ()),
        machines=tuple(machine or ()),
        visibility=visibility,
        starred=starred,
        archived=archived,
        only_here=only_here,
        errors=errors,
        problems=problems,
        series=series,
        since=parse_moment("since", since),
        until=parse_moment("until", until),
    )


def _name(person: str, caller: Caller) -> str:
    """Return the name of a person: nobody is called `me`, and for the operator that is nobody."""
    return (caller.name or "") if person == ME else person


SESSION_FILTER: Mapping[str, Provide] = {"asked": Provide(build_filter, sync_to_thread=False)}
