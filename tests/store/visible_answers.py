"""Everything that can be asked of a store within a scope, without numbers that only mean something in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec.structs import replace

from store.visible_worlds import NAMES
from turnlog.store.interface import (
    ChangeKind,
    KnownSession,
    MaintainedStore,
    count_files,
    find_sessions,
    is_visible,
)
from turnlog.store.lists import SessionFilter
from turnlog.store.model import Place, Scope, Visibility, find_access
from turnlog.store.search.language import parse_query
from turnlog.store.search.paging import SearchOrder
from turnlog.store.usage_report import Grouping, UsageQuery, build_report
from turnlog.testing.checks import Answers, collect_answers
from turnlog.transcripts.hooks import DeliveryFilter, HookMention

_IDS = (*NAMES, "s-9")
_QUERIES = (
    "*e*",
    "telling",
    "person:ada *e*",
    "-person:ada *e*",
    "machine:host-m-1 *e*",
    "kind:hook *e*",
    "project:tea *e*",
)
_FILTERS = (
    SessionFilter(persons=("ada",)),
    SessionFilter(persons=("",), machines=("m-1", "m-2")),
    SessionFilter(visibility=Visibility.TEAM, archived=None),
    SessionFilter(starred=True),
)
_TIMES = (1_767_312_000_000_000, 1_767_312_002_000_000)


def ask_everything(
    store: MaintainedStore, scope: Scope, known: list[KnownSession], places: list[Place]
) -> Answers:
    """Ask for all, about sessions and lines that are in a world, whoever may see them."""
    answers = collect_answers(store, scope, known)
    del answers["read_feed"]
    numbers = _number(store, scope)
    for part in (_ask_lists, _ask_windows, _ask_hooks, _ask_usage):
        answers |= part(store, scope, known, places, numbers)
    return {name: [*sorted(map(_tell, found))] for name, found in answers.items()}


def _number(store: MaintainedStore, scope: Scope) -> dict[int, str]:
    """Return the ids of deliveries by their numbers, those that are not seen as well."""
    which = DeliveryFilter(delivery_ids=[f"{scope.owner}/{at:03}" for at in range(9)])
    return {each.id: each.delivery_id for each in store.list_deliveries(Scope(scope.owner), which)}


def _tell(found: object) -> str:
    """Return an answer as text, in which every owner and every moment is the same."""
    text = msgspec.json.encode(found).decode() if isinstance(found, msgspec.Struct) else repr(found)
    return re.sub(r"\bw\d+[a-z]*/", "w/", text)


def _ask_lists(
    store: MaintainedStore, scope: Scope, known: list[KnownSession], places: list[Place], _: dict[int, str]
) -> Answers:
    keys = [session.key for session in known]
    pages = [store.list_sessions(scope, asked) for asked in _FILTERS]
    changes = store.read_feed(scope, 0).entries
    assert [each.seq for each in changes] == sorted({each.seq for each in changes})
    assert store.read_feed(scope).last == max((each.seq for each in changes), default=0)
    kinds = (ChangeKind.SESSION_ACCESS, ChangeKind.SESSION_FORGOTTEN)
    return {
        "pages": [(page.total, page.next, page.sessions) for page in pages],
        "facets": [store.list_facets(scope, asked) for asked in (*_FILTERS, SessionFilter())],
        "machines": [*store.list_machines(scope)],
        "access": [find_access(store, scope, key) for key in keys],
        "list_access": [*store.list_access(scope)],
        "visible": [name for name in (*keys, *_IDS) if is_visible(store, scope, name)],
        "rules": [*store.list_rules(scope)],
        "find_sessions": [*find_sessions(store, scope, "s-"), *find_sessions(store, scope, "")],
        "begun": [store.list_sessions(scope, SessionFilter(heads=(f"{name}-main-0",))) for name in NAMES],
        "changes": [*{(each.kind, each.session, each.revision) for each in changes if each.kind not in kinds}],
        "search": [
            (query, str(order), hit)
            for query in _QUERIES
            for order in SearchOrder
            for hit in store.search(scope, parse_query(query), order=order, limit=200).hits
        ],
    }


def _ask_windows(
    store: MaintainedStore, scope: Scope, known: list[KnownSession], places: list[Place], _: dict[int, str]
) -> Answers:
    found: list[object] = []
    for session in known:
        key, agent = session.key, next(each.source for each in session.sources if each.agent_id)
        with store.open_session(scope, key) as records:
            for source in (None, agent):
                chapter = records.find_chapter(source)
                found.append(chapter is None)
                if chapter is not None:
                    found += [chapter.count_messages, chapter.list_after(0, 9), chapter.list_before(2, 1)]
                    found += [chapter.list_calls_of(chapter.list_at([0, 1])), chapter.read_raw([0])]
            message = records.find_message(f"{session.session_id}-main-0")
            found += [
                None if message is None else message[1],
                records.count_turns(),
                records.list_turn_calls(0, 9),
                records.find_turns(_TIMES),
                store.read_usage(scope).find_version(key) >= 0,
            ]
    for place in places:
        found.append(_try(lambda place=place: store.archive.read(scope, place, 5)))  # type: ignore[misc]
    return {"windows": found, "files": [count_files(store, scope)]}


def _try(ask: Callable[[], object]) -> object:
    try:
        return ask()
    except KeyError:
        return None


def _ask_hooks(
    store: MaintainedStore, scope: Scope, known: list[KnownSession], _: list[Place], numbers: dict[int, str]
) -> Answers:
    def name(facts: Iterable[Any]) -> list[object]:
        return [(numbers[fact.id], replace(fact, id=0)) for fact in facts]

    def ask(**asked: Any) -> list[object]:
        return name(store.list_deliveries(scope, DeliveryFilter(**asked)))

    found: list[object] = [*ask(), store.count_deliveries(scope)]
    found += [ask(delivery_ids=list(numbers.values())), ask(ids=list(numbers))]
    found += store.list_hook_sessions(scope, 0)
    for each in _IDS:
        calls = [f"call-{each}-main-1"]
        told = [HookMention("PreToolUse", call, time) for call in (None, *calls) for time in _TIMES]
        found += [
            ask(session_id=each),
            ask(session_id=each, since_ns=0, until_ns=1 << 62),
            ask(session_id=each, tool_use_ids=calls),
            ask(session_id=each, events_only=True, payloads=False),
            store.count_deliveries(scope, each),
        ]
        with store.open_session(scope, "of nobody", hooks=each) as session:
            found += [name(session.list_hooks_at([*numbers])), name(session.list_hooks_near(told))]
    for one in known:
        with store.open_session(scope, one.key, hooks=one.session_id) as session:
            under = session.list_hooks_under(session.main, range(3), above=True)
            hooks = session.list_hooks_at([*numbers])
            found += [
                (under.total, [(at, name([fact])) for at, fact in under.hooks]),
                sorted((numbers[at], repr(place)) for at, place in session.find_hook_places(hooks).items()),
                [(chapter.source, event) for chapter, event in session.list_hook_lines(hooks)],
                [
                    (
                        numbers[each.number] if each.kind == "hook" else None,
                        each.kind,
                        each.category,
                        each.state,
                        each.name,
                    )
                    for each in session.list_actions()
                ],
                session.tally_actions(),
            ]
    return {"hooks": found}


def _ask_usage(
    store: MaintainedStore, scope: Scope, known: list[KnownSession], _: list[Place], __: dict[int, str]
) -> Answers:
    usage, now = store.read_usage(scope), datetime(2026, 1, 3, tzinfo=UTC)
    reports = [build_report(usage, UsageQuery(zone=UTC, now=now, by=by)) for by in Grouping]
    return {
        "reports": [replace(report, prices=None) for report in reports],
        "find_answers": [*store.read_usage(scope).find_answers(["msg-1", "msg-2", "msg-3"])],
    }
