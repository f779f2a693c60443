"""Where a text stands, as filters ask for it and hits name it; what filters leave out is left out early.

An engine looks up the rows (`TextRows`); what they mean is the same for every engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import UNSET
from msgspec.structs import replace

from turnlog.store.identity import Place
from turnlog.store.search.hits import Hit
from turnlog.store.search.language import And, Filter, Node, Not, Or
from turnlog.store.search.matcher import Matcher
from turnlog.store.search.paging import NO_SNIPPET, Candidate
from turnlog.store.search.settings import Setting
from turnlog.store.search.text_rows import HOOKS, Message, Proposed, TextRows
from turnlog.store.search.texts import KINDS

__all__ = ["Surroundings"]

_TOOLS = frozenset({"tool-input", "tool-output"})
_HOOK = "hook"
_LOOKED_UP = frozenset({"tool", "model", "role", "category", "file", "agent", "is"})
"""The filters that need more than the text's own row."""
_OF_SESSIONS = frozenset({"project", "session", "branch", "person", "machine"})
_NO_BRANCH = "HEAD"
"""What lines say where there is no branch; lists leave it out."""
_OF_CALLS = frozenset({"tool", "file"})
_Found = tuple[Hit, Setting] | None


class Surroundings:
    """Tells where texts stand, for one query."""

    def __init__(self, rows: TextRows, matcher: Matcher) -> None:
        self._rows = rows
        self._matcher = matcher
        names = {each.name for each in _list_filters(matcher.query.root)}
        self._asks_more = not names.isdisjoint(_LOOKED_UP)
        self._asks_calls = not names.isdisjoint(_OF_CALLS)
        self._asks_branch = "branch" in names
        self.asks_sessions = not names.isdisjoint(_OF_SESSIONS)
        """Whether filters ask for what texts have from their sessions."""
        if self.asks_sessions:
            rows.load_chapters()
        self.limits = _find_limits(matcher.query.root)
        """From when on, and before when, all hits are."""
        self._kept: dict[int, bool] = {}

    def list_states(self) -> list[int]:
        """Return the kinds of texts that may match, times two, and one more for errors."""
        found = []
        for number, kind in enumerate(KINDS):
            call = UNSET if kind in _TOOLS or kind == _HOOK else None
            for is_error in (False, True):
                if not self._is_out(Setting(kind=kind, is_error=is_error, tool=call, file=call)):
                    found.append(number * 2 + is_error)
        return found

    def may_have_hits(self, generation: int, oldest: int, newest: int) -> bool:
        """Tell whether texts of a file, of such times, may be hits, as far as session and times tell."""
        since, until = self.limits
        if newest < since or (until is not None and oldest >= until):
            return False
        known = self._kept.get(generation)
        if known is None:
            known = self._kept[generation] = self._judge_generation(generation)
        return known

    def build(self, proposal: Proposed) -> Candidate | None:
        """Return a text with where it stands; None if filters leave it out."""
        text, kind = proposal.text, KINDS[proposal.text.kind]
        setting = Setting(kind=kind, is_error=text.is_error, time=text.time or None)
        if self._is_out(setting):
            return None
        candidate = Candidate(proposal.key, kind, text.ordinal, setting, self._complete(proposal))
        if proposal.generation == HOOKS:
            delivery = self._rows.load_delivery(text.number)
            return None if delivery is None else replace(candidate, delivery=delivery)
        chapter = self._rows.find_chapter(proposal.generation)
        line = self._rows.find_line(proposal.generation, text.number)
        if chapter is None or line is None:
            return None
        place = Place(chapter.name, chapter.generation, line[0])
        candidate = replace(candidate, place=place, length=line[1])
        if not self._asks_more:
            return candidate
        # Looking it up is cheaper than reading the text.
        completed = candidate.complete(candidate)
        if completed is None or self._is_out(completed[1]):
            return None
        return replace(candidate, setting=completed[1], complete=lambda _: completed)

    def _is_out(self, setting: Setting) -> bool:
        return self._matcher.matches_setting(setting) is False

    def _judge_generation(self, generation: int) -> bool:
        if generation == HOOKS:
            return not self._is_out(Setting(kind=_HOOK))
        chapter = self._rows.find_chapter(generation)
        if chapter is None:
            return False
        setting = Setting(
            project=chapter.project,
            session_ids=chapter.names,
            person=chapter.person,
            machine=chapter.machine,
        )
        if chapter.branches is None or not self._asks_branch:
            return not self._is_out(setting)
        branches = (None, _NO_BRANCH, *chapter.branches)
        return not all(self._is_out(replace(setting, branch=branch)) for branch in branches)

    def _complete(self, proposal: Proposed) -> Callable[[Candidate], _Found]:
        build = self._build_hook if proposal.generation == HOOKS else self._build
        return lambda candidate: build(proposal, candidate)

    def _build(self, proposal: Proposed, candidate: Candidate) -> _Found:
        rows, text, kind, place = self._rows, proposal.text, candidate.kind, candidate.place
        chapter = rows.find_chapter(proposal.generation)
        if chapter is None or place is None:
            return None
        call = rows.find_call(chapter, kind, text.number, text.block, all_at_once=self._asks_calls)
        tool, path, category = (None, None, None) if call is None else (call.tool, call.path, call.category)
        if self._asks_calls and self._is_out(replace(candidate.setting, tool=tool, file=path)):
            return None
        message = rows.find_message(chapter, text.number) or self._find_bare(proposal)
        agent_id = message.agent_id or chapter.agent_id
        setting = replace(
            candidate.setting,
            project=chapter.project,
            session_ids=chapter.names,
            person=chapter.person,
            machine=chapter.machine,
            tool=tool,
            model=message.model,
            role=message.role,
            category=message.category or category,
            file=path,
            is_sidechain=message.is_sidechain,
            agents=rows.list_agent_names(chapter, agent_id),
        )
        hit = Hit(
            kind=kind,
            session=chapter.key,
            session_id=chapter.session_id,
            project=chapter.project,
            title=chapter.title,
            source=chapter.name,
            place=place,
            line=text.number,
            ordinal=text.ordinal,
            message=message.index,
            message_id=message.id,
            call=None if call is None else call.index,
            tool=tool,
            role=message.role,
            model=message.model,
            agent_id=agent_id,
            is_error=text.is_error,
            time=text.time or None,
            snippet=NO_SNIPPET,
        )
        return hit, setting

    def _find_bare(self, proposal: Proposed) -> Message:
        """Return what is known of a line that belongs to no message."""
        line = self._rows.find_line(proposal.generation, proposal.text.number)
        return Message(is_sidechain=line is not None and line[2])

    def _build_hook(self, proposal: Proposed, candidate: Candidate) -> _Found:
        text, found = proposal.text, self._rows.find_delivery(proposal.text.number)
        if found is None:
            return None
        setting = replace(
            candidate.setting,
            project=found.project,
            session_ids=(found.session_id,) if found.key is None else (found.session_id, found.key),
            person=found.person,
            machine=found.machine,
            tool=found.tool,
            model=None,
            role=None,
            category=None,
            file=None,
            is_sidechain=False,
            agents=(),
        )
        hit = Hit(
            kind=candidate.kind,
            session=found.key,
            session_id=found.session_id,
            project=found.project,
            title=found.title,
            source=None,
            place=None,
            line=None,
            ordinal=text.ordinal,
            tool=found.tool,
            delivery_id=found.delivery_id,
            is_error=text.is_error,
            time=text.time or None,
            snippet=NO_SNIPPET,
        )
        return hit, setting


def _list_filters(node: Node) -> Iterator[Filter]:
    if isinstance(node, Filter):
        yield node
    elif isinstance(node, Not):
        yield from _list_filters(node.part)
    elif isinstance(node, And | Or):
        for part in node.parts:
            yield from _list_filters(part)


def _find_limits(root: Node) -> tuple[int, int | None]:
    """Return from when and until when all hits are, as far as the query says so for all of them."""
    parts = root.parts if isinstance(root, And) else (root,)
    filters = [part for part in parts if isinstance(part, Filter) and part.instant is not None]
    since = [part.instant or 0 for part in filters if part.name == "after"]
    until = [part.instant or 0 for part in filters if part.name == "before"]
    return max(since, default=0), min(until, default=None)
