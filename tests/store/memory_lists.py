"""Lists in memory: every session is looked at, and then they are sorted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal

from msgspec.structs import replace

from store.memory_marks import find_marks
from store.memory_seeing import find_state
from store.memory_state import Session, State
from turnlog.store.catalogue.people import AccessState
from turnlog.store.lists import (
    FEWEST_ALIKE,
    Cursor,
    Facets,
    Marks,
    ProjectOrder,
    SessionFilter,
    SessionOrder,
    SessionPage,
    StoredProject,
    StoredSession,
    count_facets,
    decode_cursor,
    encode_cursor,
    list_model_forms,
    sort_projects,
)
from turnlog.store.model import Visibility

_Value = int | float | str | None
_Placed = tuple[tuple[bool, int | float | str, str], StoredSession]


def list_sessions(
    state: State,
    owner: str,
    asked: SessionFilter,
    order: SessionOrder,
    limit: int,
    cursor: str | None,
    grouped: bool = False,
    summaries: bool = False,
) -> SessionPage:
    found = [
        (_place(_rank(stored, order), stored.key, order), stored)
        for stored, name in _list_all(state, owner)
        if _fits(stored, name, asked)
    ]
    found.sort(key=lambda each: each[0])
    total = len(found)
    if grouped:
        found = _group(found)
    left = found
    if cursor is not None:
        behind = decode_cursor(cursor, order)
        left = [each for each in found if each[0] > _place(behind.value, behind.key, order)]
    page = tuple(
        stored if summaries else replace(stored, row=replace(stored.row, summary=b""))
        for _, stored in left[:limit]
    )
    last = Cursor(order, _rank(page[-1], order), page[-1].key) if page and len(left) > limit else None
    return SessionPage(page, None if last is None else encode_cursor(last), total, len(found))


def _group(found: list[_Placed]) -> list[_Placed]:
    """Return the first of each group that is large enough, and all others."""
    series: Counter[tuple[str | None, str | None]] = Counter(
        (stored.row.series, stored.person) for _, stored in found if stored.row.series
    )
    kept: list[_Placed] = []
    seen: set[tuple[str | None, str | None]] = set()
    for place, stored in found:
        name = stored.row.series, stored.person
        if series[name] < FEWEST_ALIKE:
            kept.append((place, stored))
        elif name not in seen:
            seen.add(name)
            kept.append((place, replace(stored, alike=series[name])))
    return kept


def list_projects(state: State, owner: str, text: str | None, order: ProjectOrder) -> list[StoredProject]:
    groups: dict[str | None, list[StoredSession]] = {}
    for stored, _ in _list_all(state, owner):
        if text is None or text.casefold() in (stored.row.project or "").casefold():
            groups.setdefault(stored.row.project, []).append(stored)
    return sort_projects([_build_project(path, group) for path, group in groups.items()], order)


def list_facets(state: State, owner: str, asked: SessionFilter) -> Facets:
    found = [stored for stored, name in _list_all(state, owner) if _fits(stored, name, asked)]
    return Facets(
        models=count_facets((stored.row.models, 1) for stored in found),
        branches=count_facets((stored.row.branches, 1) for stored in found),
        tags=count_facets((stored.marks.tags, 1) for stored in found),
        persons=count_facets(([stored.person or ""], 1) for stored in found),
        machines=count_facets(([stored.origin], 1) for stored in found),
    )


def _build_project(path: str | None, group: list[StoredSession]) -> StoredProject:
    rows = [stored.row for stored in group]
    costs = [Decimal(row.cost) for row in rows if row.cost is not None]
    return StoredProject(
        path=path,
        sessions=len(group),
        only_here=sum(stored.only_here for stored in group),
        archived=sum(stored.marks.archived for stored in group),
        first_time=min((row.first_time for row in rows if row.first_time is not None), default=None),
        last_time=max((row.last_time for row in rows if row.last_time is not None), default=None),
        prompts=sum(row.prompts for row in rows),
        answers=sum(row.answers for row in rows),
        input_tokens=sum(row.input_tokens for row in rows),
        output_tokens=sum(row.output_tokens for row in rows),
        cost=sum(costs, Decimal(0)) if costs else None,
        unpriced=len(rows) - len(costs),
    )


def _list_all(state: State, owner: str) -> Iterator[tuple[StoredSession, str]]:
    """Yield all sessions, each with the id by which its file is called."""
    for key, session in state.owners.get(owner, {}).items():
        access = find_state(state, owner, session)
        yield _store(session, find_marks(state, owner, key) or Marks(), access), session.session_id


def _store(session: Session, marks: Marks, access: AccessState) -> StoredSession:
    transcript = session.sources.get(session.key)
    assert session.derived is not None
    return StoredSession(
        key=session.key,
        revision=session.revision,
        project_folder=session.project_folder,
        path=transcript.path if transcript else "",
        present=transcript is not None and transcript.present,
        row=session.derived.session,
        only_here=not any(source.present for source in session.sources.values()),
        marks=marks,
        copied_from=transcript.copied_from if transcript else None,
        origin=session.origin,
        person=access.person,
        visibility=Visibility.TEAM if access.shared else Visibility.PRIVATE,
    )


def _fits(stored: StoredSession, name: str, asked: SessionFilter) -> bool:
    row, marks, project = stored.row, stored.marks, stored.row.project
    base = (asked.under or "").rstrip("/\\")
    ids = (stored.key, name, row.session_id or "")
    return all(
        (
            asked.project in (None, project),
            asked.under is None
            or project == asked.under
            or (project or "").startswith((f"{base}/", f"{base}\\")),
            _has(asked.project_text, [project]),
            asked.session is None or any(each.startswith(asked.session) for each in ids),
            asked.name is None
            or (marks.name is not None and marks.name.casefold().startswith(asked.name.casefold())),
            _has(asked.text, [row.title, marks.name]),
            asked.model is None or any(_has(form, row.models) for form in list_model_forms(asked.model)),
            _has(asked.branch, row.branches),
            set(asked.tags) <= set(marks.tags),
            not asked.persons or (stored.person or "") in asked.persons,
            not asked.machines or stored.origin in asked.machines,
            asked.visibility in (None, stored.visibility),
            asked.starred in (None, marks.starred),
            asked.archived in (None, marks.archived),
            asked.only_here in (None, stored.only_here),
            asked.since is None or (row.last_time is not None and row.last_time >= asked.since),
            asked.until is None or (row.first_time is not None and row.first_time < asked.until),
            asked.errors in (None, row.errors > 0),
            asked.problems in (None, row.problems > 0),
            asked.series in (None, row.series),
            not asked.heads or (row.head is not None and row.head.uuid in asked.heads),
        )
    )


def _has(text: str | None, values: Sequence[str | None]) -> bool:
    return text is None or any(text.casefold() in each.casefold() for each in values if each is not None)


def _rank(stored: StoredSession, order: SessionOrder) -> _Value:
    """Return by what a session is sorted."""
    row, title = stored.row, stored.marks.name or stored.row.title
    match order:
        case SessionOrder.TITLE:
            return None if title is None else title.casefold()
        case SessionOrder.COST:
            return None if row.cost is None else float(row.cost)
        case SessionOrder.DURATION:
            return None if row.first_time is None or row.last_time is None else row.last_time - row.first_time
        case SessionOrder.MESSAGES:
            return row.messages
        case SessionOrder.TOKENS:
            return row.input_tokens + row.output_tokens
        case _:
            return row.last_time


def _place(value: _Value, key: str, order: SessionOrder) -> tuple[bool, int | float | str, str]:
    """Return what says which of two sessions comes first; those that lack a value come last."""
    if value is None:
        return True, 0, key
    ascending = order in (SessionOrder.OLDEST, SessionOrder.TITLE)
    return False, value if ascending or isinstance(value, str) else -value, key
