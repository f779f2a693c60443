"""Tool calls and their results, put together line by line.

A result is joined to its call by `tool_use_id`; where one of the two has no id, by `sourceToolAssistantUUID`,
then by the parent. Ids that differ are never joined by anything else.

Spec 000 has no ids at all. There a result answers the call that is its parent; where parents tell nothing, the
n-th result after n parallel calls answers the n-th. They tell nothing where lines are chained, each with the
one before it as its parent, or where all results hang under the last call. So a result under the last call of
several is that call's, until a second result hangs there or follows the first: then the order decides.

Lines come in any order and more than once: a result may stand before its call, have none, or never come.
Resumes and forks copy calls and results under the same ids, and a fork closes a running call with an
interruption that never happened. So of several results the one that tells most counts (an outcome, then a
placeholder, then an interruption or a refusal), and of equals the last; the first place of a call is its
place. What a background task said in the end turns a placeholder into an outcome.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from msgspec import Struct, field

import turnlog.messages.sdk.messages as sdk
from turnlog.messages import Dialect, Line
from turnlog.messages.entries import AssistantEntry, UserEntry
from turnlog.messages.envelope import Envelope
from turnlog.messages.legacy import StoredType
from turnlog.messages.system import SystemNotice
from turnlog.transcripts.calls import (
    Call,
    CallDraft,
    Pairing,
    Place,
    Result,
    TaskNotice,
    find_agent_id,
    find_notice,
    read_result,
)
from turnlog.transcripts.lines.content import CallBlock, find_stored_type, is_call, is_result, list_blocks


class _OpenCalls:
    """Calls by the uuid of their line, in order; nearly always one."""

    def __init__(self) -> None:
        self._calls: dict[str, int | deque[int]] = {}

    def add(self, uuid: str, position: int) -> None:
        known = self._calls.get(uuid)
        if known is None:
            self._calls[uuid] = position
        elif isinstance(known, int):
            self._calls[uuid] = deque((known, position))
        else:
            known.append(position)

    def find(self, uuid: str, drafts: list[CallDraft]) -> int | None:
        """Return the first call that has no result; those before it are not asked about again."""
        known = self._calls.get(uuid)
        if known is None or isinstance(known, int):
            return None if known is None or drafts[known].result is not None else known
        while known and drafts[known[0]].result is not None:
            known.popleft()
        return known[0] if known else None


class PlaceIndex:
    """Calls by where they and their results stand, for what cannot be found by an id.

    Nearly everything can: so places are only noted as they come, and looked at when somebody asks.
    """

    def __init__(self, drafts: list[CallDraft]) -> None:
        self._drafts = drafts
        self._new_calls: list[tuple[Place, bool, int]] = []
        self._new_results: list[tuple[Place, int]] = []
        self._by_extracted: dict[str, int] = {}
        self._answered: dict[str, int] = {}  # by the result's extracted id: copies go where the first one went
        # Calls that a result may be joined to by the uuid of their line, those without an id apart.
        self._open = _OpenCalls(), _OpenCalls()

    def add_call(self, place: Place, named: bool, position: int) -> None:
        """Note where a call stands, and whether it has an id."""
        self._new_calls.append((place, named, position))

    def add_result(self, place: Place, position: int) -> None:
        """Note where a result of a call stands."""
        self._new_results.append((place, position))

    def remove_result(self, result: Result) -> None:
        """Forget to which call a result was joined."""
        self.find_answered(result)
        self._answered.pop(result.extracted_id or "", None)

    def find_at(self, uuid: str | None) -> int | None:
        """Return the call with which a line begins, whether it has a result or not; None if there is none."""
        self._look_at_calls()
        return self._by_extracted.get(f"{uuid}_tool_0")

    def find_call(self, place: Place) -> int | None:
        """Return the call that stands at a place, or under its name; None if there is none."""
        self._look_at_calls()
        return self._by_extracted.get(place.extracted_id(StoredType.TOOL_USE) or "")

    def find_answered(self, result: Result) -> int | None:
        """Return the call to which a result at the same place was joined before, or None."""
        for place, position in self._new_results:
            extracted = place.extracted_id(StoredType.TOOL_RESULT)
            if extracted is not None:
                self._answered[extracted] = position
        self._new_results.clear()
        return self._answered.get(result.extracted_id or "")

    def find_open(self, uuid: str | None, named: bool) -> int | None:
        """Return the first call of a line that has no result; a result with an id fits only calls without."""
        self._look_at_calls()
        found: list[int] = []
        for calls in self._open[:1] if named else self._open:
            position = calls.find(uuid or "", self._drafts)
            if position is not None and not (named and self._drafts[position].id is not None):
                found.append(position)
        return min(found, default=None)

    def _look_at_calls(self) -> None:
        for place, named, position in self._new_calls:
            extracted = place.extracted_id(StoredType.TOOL_USE)
            if extracted is not None:
                self._by_extracted.setdefault(extracted, position)
            for uuid in {place.uuid, extracted} - {None}:
                self._open[named].add(str(uuid), position)
        self._new_calls.clear()


def list_links(result: Result) -> list[tuple[str, Pairing]]:
    """Return the uuids by which a result points to its call, the best first."""
    line = result.place.line
    entry = line.entry
    links: list[tuple[str, Pairing]] = []
    if isinstance(entry, UserEntry) and isinstance(entry.source_tool_assistant_uuid, str):
        links.append((entry.source_tool_assistant_uuid, Pairing.SOURCE))
    uuid = result.place.uuid
    if find_stored_type(line) is StoredType.TOOL_RESULT and uuid is not None:
        # Spec 003 draws the two as siblings as well: then only their names show that they belong together.
        links.append(("_tool_".join(uuid.rsplit("_result_", 1)), Pairing.PARENT))
    parent = find_parent(line)
    if parent is not None:
        links.append((parent, Pairing.PARENT))
    return links


def find_parent(line: Line) -> str | None:
    """Return the uuid of the line that a line follows, or None."""
    parent = line.entry.parent_uuid if isinstance(line.entry, Envelope) else None
    return parent if isinstance(parent, str) else None


def session_of(line: Line) -> str:
    """Return the session that a line names; empty if it names none."""
    session = getattr(line.entry, "session_id", None)
    return session if isinstance(session, str) else ""


def lane_of(line: Line) -> tuple[object, ...]:
    """Return whose calls these are: those of a sub-agent come between a call of it and that call's result."""
    entry = line.entry
    agent = entry.agent_id if isinstance(entry, Envelope) else None
    return (session_of(line), isinstance(entry, Envelope) and entry.is_sidechain is True, agent)


def list_denied(line: Line) -> list[str]:
    """Return the ids of the calls that a message of the stream says were not allowed."""
    match line.entry:
        case sdk.PermissionDeniedMessage(tool_use_id=str(denied)):
            return [denied]
        case sdk.ResultMessage(permission_denials=tuple(denials)):
            return [denial.tool_use_id for denial in denials if isinstance(denial.tool_use_id, str)]
    return []


_SPEC_000, _BY_ID = Dialect.SPEC_000, Pairing.ID  # looking a member up costs time for each line


class Calls(Struct, frozen=True, gc=False):
    """The calls of some lines, and the results that belong to none of them; both in order of appearance."""

    calls: tuple[Call, ...] = ()
    orphans: tuple[Result, ...] = ()


def build_calls(lines: Iterable[Line]) -> Calls:
    """Return the calls of all lines at once."""
    builder = CallBuilder()
    for line in lines:
        builder.add(line)
    return builder.build()


class _Batch(Struct, eq=False):
    """The calls of spec 000 that were made at once, and wait for their results."""

    open: deque[int] = field(default_factory=deque)
    calls: int = 0
    last: int = -1
    answered: bool = False
    trusts_parents: bool | None = None
    """Whether a result under the last call answers that call; None as long as no other result tells."""
    unsure: Result | None = None
    """The result under the last call, as long as that is not known."""
    followers: set[str | None] = set()
    """The uuids of that result, and of the lines that follow it."""


class CallBuilder:
    """Puts calls together as lines come in; each line costs the same, however many came before."""

    def __init__(self) -> None:
        self._drafts: list[CallDraft] = []
        self._by_id: dict[str, int] = {}
        self._by_task: dict[tuple[str, str], int] = {}
        self._places = PlaceIndex(self._drafts)
        self._all_named = True
        self._batches: dict[tuple[object, ...], _Batch] = {}
        self._orphans: dict[int, Result] = {}
        self._waiting: dict[str, list[int]] = {}
        self._waiting_at: dict[tuple[str, bool], deque[tuple[int, Pairing]]] = {}
        self._tickets = 0
        self._notices: dict[str, TaskNotice] = {}
        self._denied: set[str] = set()
        self._moved: list[int] = []
        self.moves = 0
        """How many results went from one call to another because of what came later."""

    def add(self, line: Line) -> tuple[int, ...]:
        """Take the next line, and return the positions of the calls that it made or changed."""
        if line.dialect is _SPEC_000:
            self._follow(line)
        touched = _TAKERS.get(type(line.entry), CallBuilder._add_notice)(self, line)
        if self._moved:
            touched = [*touched, *self._moved]
            self._moved.clear()
        return tuple(touched) if len(touched) < 2 else tuple(sorted(set(touched)))

    def get_call(self, position: int) -> Call:
        """Return the call at a position; raises IndexError."""
        return self._drafts[position].build()

    def find_call(self, tool_use_id: str) -> Call | None:
        """Return the call with this id, or None."""
        position = self._by_id.get(tool_use_id)
        return None if position is None else self.get_call(position)

    def list_orphans(self) -> list[Result]:
        """Return the results whose call has not come."""
        return list(self._orphans.values())

    def build(self) -> Calls:
        """Return what the lines so far amount to."""
        return Calls(tuple([draft.build() for draft in self._drafts]), tuple(self._orphans.values()))

    def _add_blocks(self, line: Line) -> list[int]:
        touched: list[int] = []
        for index, block in enumerate(list_blocks(line.entry)):
            if is_call(block):
                touched.append(self._add_call(Place(line, index), block))
            elif is_result(block):
                touched += self._add_result(read_result(Place(line, index), block))
        return touched

    def _add_prompt(self, line: Line) -> list[int]:
        touched = self._add_blocks(line)
        blocks = list_blocks(line.entry)
        if len(blocks) == 1 and is_result(blocks[0]):
            return touched  # as nearly all results stand: with no text that could be a notice
        return touched + self._add_notice(line)

    def _add_call(self, place: Place, block: CallBlock) -> int:
        identity = block.id if isinstance(block.id, str) else None
        position = self._find_same(identity, place)
        if position is None:
            position = len(self._drafts)
            self._drafts.append(CallDraft.begin(block, place))
            self._enlist(place.line, position)
        else:
            self._drafts[position].add_copy(block, place)
        if identity is None:
            self._all_named = False
        else:
            self._by_id.setdefault(identity, position)
        self._places.add_call(place, identity is not None, position)
        self._settle(position, identity, place)
        return position

    def _find_same(self, identity: str | None, place: Place) -> int | None:
        """Return the call of which this is a copy, or None: the same id, or the same place and no other id."""
        if identity is not None:
            position = self._by_id.get(identity)
            if position is not None or self._all_named:
                return position
        position = self._places.find_call(place)
        if position is None or (identity is not None and self._drafts[position].id is not None):
            return None
        return position

    def _enlist(self, line: Line, position: int) -> None:
        """Put a call of spec 000 into its batch. A call after a result begins a new one."""
        if line.dialect is not _SPEC_000:
            return
        batch = self._batches.get(lane_of(line))
        if batch is None or batch.answered:
            batch = self._batches[lane_of(line)] = _Batch()
        batch.open.append(position)
        batch.calls += 1
        batch.last = position
        self._drafts[position].batch = batch

    def _follow(self, line: Line) -> None:
        """Note that a line follows a result of which it is not known which call it answers."""
        batch = self._batches.get(lane_of(line))
        if batch is not None and batch.unsure is not None and find_parent(line) in batch.followers:
            batch.followers.add(getattr(line.entry, "uuid", None) or "")

    def _settle(self, position: int, identity: str | None, place: Place) -> None:
        """Give a call what came before it."""
        draft = self._drafts[position]
        if identity is not None:
            for ticket in self._waiting.pop(identity, ()):
                if ticket in self._orphans:
                    self._join(position, self._orphans.pop(ticket), Pairing.ID)
            if identity in self._notices:
                draft.add_notice(self._notices[identity])
            if identity in self._denied:
                draft.deny()
        if not self._waiting_at:
            return
        for uuid in (place.uuid, place.extracted_id(StoredType.TOOL_USE)):
            for named in (False, True) if identity is None else (False,):
                waiting = self._waiting_at.get((uuid or "", named), deque())
                while waiting and draft.result is None:
                    ticket, pairing = waiting.popleft()
                    if ticket in self._orphans:
                        self._join(position, self._orphans.pop(ticket), pairing)

    def _add_result(self, result: Result) -> list[int]:
        position, pairing = self._find_call(result)
        if position is None:
            self._wait(result)
            return []
        self._join(position, result, pairing)
        return [position]

    def _find_call(self, result: Result) -> tuple[int | None, Pairing]:
        if result.tool_use_id is not None and result.tool_use_id in self._by_id:
            return self._by_id[result.tool_use_id], _BY_ID
        position = self._places.find_answered(result)
        if position is not None and (result.tool_use_id is None or self._drafts[position].id is None):
            first = self._drafts[position].paired_by or Pairing.ORDER
            # A copy that has lost its id goes where the first one went, but cannot say so by id.
            return position, Pairing.PARENT if first is Pairing.ID else first
        if result.place.line.dialect is _SPEC_000:
            return self._find_in_batch(result)
        for uuid, pairing in list_links(result):
            found = self._places.find_open(uuid, result.tool_use_id is not None)
            if found is not None:
                return found, pairing
        return None, Pairing.ID

    def _find_in_batch(self, result: Result) -> tuple[int | None, Pairing]:
        """Return the call that a result of spec 000 answers: its parent, or the next if that tells nothing."""
        line = result.place.line
        parent, latest = find_parent(line), self._batches.get(lane_of(line))
        position = self._places.find_at(parent)
        batch = None if position is None else self._drafts[position].batch
        if position is not None and isinstance(batch, _Batch):
            if self._is_answered_by(result, position, batch, batch is latest):
                return position, Pairing.PARENT
            return self._find_next(batch), Pairing.ORDER
        position = self._places.find_open(parent, named=False)
        if position is not None:
            return position, Pairing.PARENT
        if latest is None:
            return None, Pairing.ORDER
        if latest.unsure is not None and parent in latest.followers:
            self._distrust_parents(latest)
        return self._find_next(latest), Pairing.ORDER

    def _is_answered_by(self, result: Result, position: int, batch: _Batch, is_latest: bool) -> bool:
        """Tell whether a result answers its parent, a call of a batch, as far as is known."""
        draft = self._drafts[position]
        batch.answered = True
        if position == batch.last and batch.calls > 1 and batch.trusts_parents is not True:
            if batch.unsure is not None:
                self._distrust_parents(batch)
            if is_latest and batch.trusts_parents is False:
                return False
            if is_latest and draft.result is None:
                batch.unsure, batch.followers = result, {result.place.uuid} - {None}
        elif batch.trusts_parents is None:
            batch.trusts_parents, batch.unsure = True, None
        if draft.paired_by is Pairing.ORDER and draft.result is not None and batch.trusts_parents is not False:
            self._move(draft.result, position, batch)
        return draft.result is None

    def _find_next(self, batch: _Batch) -> int | None:
        """Return the first call of a batch that has no result."""
        batch.answered = True
        while batch.open:
            position = batch.open.popleft()
            if self._drafts[position].result is None:
                return position
        return None

    def _distrust_parents(self, batch: _Batch) -> None:
        """Give the result under the last call of a batch to the call whose turn it is."""
        unsure, batch.unsure, batch.trusts_parents = batch.unsure, None, False
        if not batch.open or batch.open[-1] != batch.last:
            batch.open.append(batch.last)
        if unsure is not None:
            self._move(unsure, batch.last, batch)

    def _move(self, result: Result, position: int, batch: _Batch) -> None:
        """Take a result and its copies from a call, and give them to the next one that has none."""
        moved = self._drafts[position].remove_result(result)
        target = self._find_next(batch)
        for each in moved:
            if target is None:
                self._places.remove_result(each)
                self._wait(each)
            else:
                self._join(target, each, Pairing.ORDER)
        self.moves += 1
        self._moved += [position] if target is None else [position, target]

    def _wait(self, result: Result) -> None:
        ticket = self._tickets
        self._tickets += 1
        self._orphans[ticket] = result
        if result.tool_use_id is not None:
            self._waiting.setdefault(result.tool_use_id, []).append(ticket)
        for uuid, pairing in list_links(result):
            key = (uuid, result.tool_use_id is not None)
            self._waiting_at.setdefault(key, deque()).append((ticket, pairing))

    def _join(self, position: int, result: Result, pairing: Pairing) -> None:
        draft = self._drafts[position]
        draft.add_result(result, pairing)
        self._places.add_result(result.place, position)
        task = result.task_id or (find_agent_id(result) if draft.is_agent else None)
        if task is not None:
            self._by_task[session_of(result.place.line), task] = position

    def _add_error(self, line: Line) -> list[int]:
        """Take an error of spec 000 for the result of the call that is its parent, if that has none yet."""
        entry = line.entry
        if line.dialect is not _SPEC_000 or not isinstance(entry, SystemNotice) or entry.is_error is not True:
            return []
        parent = find_parent(line)
        if self._places.find_open(parent, named=False) is None:
            at = self._places.find_at(parent)
            batch = None if at is None else self._drafts[at].batch
            if not isinstance(batch, _Batch) or batch.unsure is None or at != batch.last:
                return []
        return self._add_result(read_result(Place(line, 0), entry))

    def _add_notice(self, line: Line) -> list[int]:
        notice = find_notice(line)
        if notice is None:
            return []
        if notice.tool_use_id is not None:
            self._notices[notice.tool_use_id] = notice
            position = self._by_id.get(notice.tool_use_id)
        else:
            position = self._by_task.get((session_of(line), notice.task_id or ""))
        if position is None:
            return []
        self._drafts[position].add_notice(notice)
        return [position]

    def _add_denials(self, line: Line) -> list[int]:
        denied = list_denied(line)
        self._denied.update(denied)
        touched = [self._by_id[each] for each in denied if each in self._by_id]
        for position in touched:
            self._drafts[position].deny()
        return touched


_TAKERS: dict[type, Callable[[CallBuilder, Line], list[int]]] = {
    AssistantEntry: CallBuilder._add_blocks,
    sdk.AssistantMessage: CallBuilder._add_blocks,
    UserEntry: CallBuilder._add_prompt,
    sdk.UserMessage: CallBuilder._add_prompt,
    sdk.UserMessageReplay: CallBuilder._add_prompt,
    SystemNotice: CallBuilder._add_error,
    sdk.PermissionDeniedMessage: CallBuilder._add_denials,
    sdk.ResultMessage: CallBuilder._add_denials,
}
"""What entries have to do with calls; others tell at most of the end of a task."""
