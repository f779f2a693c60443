"""A session at a glance: what it is called, what it ran with, how much of everything is in it.

`SummaryFold` takes lines one by one, and can be asked at any time: the summary of a file that grew is the one
that reading all of it again would give. It counts what it is given: the lines of one file, or those of a
session and of its agents' files behind them.

- A line that is copied within a file (the same `uuid`) is a line like any other, but no second message.
- The session is the one that most lines name, among equals the first; others are listed.
- Times are the earliest and the latest that any line bears: in file order they run backwards now and then.
- Prompts are what people typed, queued prompts included. Slash commands and shell commands are counted apart.
- An answer is one `message.id`, a sub-agent's, too; what the program wrote in a model's place is none.
- Calls, tokens and money are the matter of `tools`, `usage` and `pricing`.

A program that starts sessions again and again with one prompt (a cron job, CI, a loop around `claude -p`) makes
a *series* of them, which lists show as one. A session belongs to a series if nobody but a program had a hand in
it: every line that names an entrypoint names one of `AUTOMATIONS`, and there is one prompt or command, no more.
Editors that run Claude Code through the SDK have these entrypoints, too, but people go on talking there.
`promptSource` does not tell the two apart (prompts typed in VS Code say `sdk`), nor does `userType`. A session
without any entrypoint, as older versions wrote them, belongs to none.

Which series it is follows from the project and the prompt. What varies between runs does not count: blanks,
numbers and dates, hexadecimal names of seven characters or more, UUIDs, and paths of temporary files. Of a
prompt of more than 512 characters, its beginning and its end count.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from hashlib import blake2b

from msgspec import Struct
from msgspec.structs import asdict

from turnlog.instants import find_moment
from turnlog.messages import UNSET, Line
from turnlog.messages.entries import UnknownEntry
from turnlog.transcripts.calls.builder import CallBuilder
from turnlog.transcripts.calls.call import Call
from turnlog.transcripts.calls.states import CallState
from turnlog.transcripts.files.projects import project_name
from turnlog.transcripts.summary.call_tally import CallTally
from turnlog.transcripts.summary.session_state import STATE_TYPES, SessionState, SessionStateFold
from turnlog.transcripts.summary.surroundings import Feature, Surroundings
from turnlog.transcripts.summary.tallies import Tally
from turnlog.transcripts.summary.titles import TITLE_TYPES, Title, TitleFold
from turnlog.transcripts.usage.book import ModelTotals, UsageBook
from turnlog.transcripts.usage.election import Totals
from turnlog.transcripts.usage.fold import UsageFold
from turnlog.transcripts.usage.pricing import Prices

_UNKNOWN = "unknown"
_COMPACTION = "compaction"  # the older dialects' word for it differs, and each step has its own
_FAMILIES = {"subtype": "system/", "hook_event_name": "hook/"}

AUTOMATIONS = frozenset({"sdk-cli", "sdk-py", "sdk-ts", "claude-code-github-action"})
"""The entrypoints of programs: `claude -p`, the SDKs, and the action for GitHub."""
_VARYING = re.compile(
    r"(?:/private)?/(?:tmp|var/tmp|var/folders)/\S+"
    r"|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"
    r"|\b(?=[a-f]*[0-9])[0-9a-f]{7,}\b"
    r"|[0-9]+",
    re.IGNORECASE | re.ASCII,
)
"""What differs between prompts of one program."""
_END, _SURE_END = 256, 200
"""How much of a long prompt is looked at on either side, and how much of that counts: the rest is a margin for
numbers of other lengths. A line of many megabytes is read without the middle of its texts."""


class Counts(Struct, frozen=True, gc=False, kw_only=True):
    """How much of everything there is."""

    lines: int = 0
    types: dict[str, int] = {}
    """Lines of each type, with the subtype of system lines behind a slash."""
    prompts: int = 0
    commands: int = 0
    shell_commands: int = 0
    answers: int = 0
    calls: int = 0
    failed_calls: int = 0
    unresolved_calls: int = 0
    """Calls without a result so far."""
    agents: int = 0
    """Sub-agents whose lines are here, in the transcript or in files of their own."""
    compactions: int = 0
    api_errors: int = 0
    """Requests that failed for good."""
    api_retries: int = 0
    interruptions: int = 0
    aborted: int = 0
    deleted: int = 0
    unknown: int = 0
    """Lines that are broken, or of a type that nobody declared."""
    problems: int = 0


class Summary(SessionState, frozen=True, gc=False, kw_only=True):
    """A session at a glance. What comes in several is in order of appearance, each once."""

    id: str | None = None
    other_ids: tuple[str, ...] = ()
    title: Title | None = None
    project: str | None = None
    """Its path, or the name of its folder where no line tells it."""
    cwds: tuple[str, ...] = ()
    branches: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    entrypoints: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    first_time: datetime | None = None
    last_time: datetime | None = None
    counts: Counts = Counts()
    totals: Totals = Totals()
    model_totals: tuple[ModelTotals, ...] = ()
    """By model, in order of names."""
    cost: Decimal | None = None
    """In dollars, of all models that have a price; None if no prices were asked for."""
    unpriced_terms: tuple[str, ...] = ()
    """What the cost leaves out of messages that it includes, as `speed=fast`."""
    reported_cost: Decimal | None = None
    """The program's own figure: the last `cost-state`, or `result` of the stream."""
    agents: tuple[str, ...] = ()
    """The ids of the sub-agents that lines belong to or calls started."""
    forked_from: str | None = None
    """The session that this one was forked from."""
    first_prompt: str | None = None
    """The first line of it, shortened."""
    last_prompt: str | None = None
    """The first line of it, shortened."""
    series: str | None = None
    """The same for all sessions of a project that programs started with the same prompt; None for others."""


def build_summary(lines: Iterable[Line], *, folder: str = "", prices: Prices | None = None) -> Summary:
    """Return the summary of all lines at once."""
    fold = SummaryFold(folder)
    for line in lines:
        fold.add(line)
    return fold.build(prices)


class SummaryFold:
    """The summary of a session, as its lines come in."""

    def __init__(
        self,
        folder: str = "",
        *,
        usage: UsageFold | Callable[[], UsageBook] | None = None,
        calls: CallBuilder | Sequence[Call] | Callable[[], CallTally] | None = None,
    ) -> None:
        """Begin with nothing; `folder` is the name of the project's folder.

        Where `usage` or `calls` are given, they are only asked: whoever has them takes care of the lines. What
        is called for a book or a tally is called when the summary is built; a book has prices of its own.
        """
        self._folder = folder
        self._own_usage = UsageFold() if usage is None else None
        self._own_calls = CallBuilder() if calls is None else None
        self._usage = usage
        self._calls = calls
        self._types: dict[type, int] = {}
        self._problems = 0
        self._uuids: set[str] = set()
        self._titles = TitleFold(self._uuids)
        self._title: Title | None = None
        """When nothing comes any more."""
        self._surroundings = Surroundings()
        self._tally = Tally()
        self._state = SessionStateFold()

    def add(self, line: Line) -> None:
        """Take the next line."""
        entry = line.entry
        kind = type(entry)
        self._types[kind] = self._types.get(kind, 0) + 1
        if line.problems:
            self._problems += len(line.problems)
        self._surroundings.add(entry)
        if kind in STATE_TYPES:
            self._state.add(entry)
        if kind in TITLE_TYPES:
            self._titles.add(line)
        uuid = getattr(entry, "uuid", UNSET)
        if uuid is UNSET:
            self._tally.add(line)
        elif uuid not in self._uuids:
            self._uuids.add(uuid)
            self._tally.add(line)
        if self._own_usage is not None:
            self._own_usage.add(line)
        if self._own_calls is not None:
            self._own_calls.add(line)

    def finish(self) -> None:
        """Let go of what tells lines and answers apart: nothing comes any more."""
        self._title = self._titles.title
        self._uuids.clear()
        self._tally.finish()

    def build(self, prices: Prices | None = None, *, agent_count: int | None = None) -> Summary:
        """Return the summary of all lines so far, with costs if there are `prices`.

        Lines alone tell only of sub-agents that have ids; whoever knows how many there are gives `agent_count`.
        """
        around, calls, usage = self._surroundings, self._tally_calls(), self._open_book(prices)
        ids = around.count_values(Feature.SESSION)
        own = max(ids, key=ids.__getitem__, default=None)
        cwds = around.list_values(Feature.CWD)
        agents = tuple(dict.fromkeys((*around.list_values(Feature.AGENT), *calls.agents)))
        project, entrypoints = project_name(cwds, self._folder) or None, around.list_values(Feature.ENTRYPOINT)
        bill = usage.build_bill()
        return Summary(
            **asdict(self._state.build()),
            id=own,
            other_ids=tuple(each for each in ids if each != own),
            title=self._title or self._titles.title,
            project=project,
            cwds=cwds,
            branches=around.list_values(Feature.BRANCH),
            versions=around.list_values(Feature.VERSION),
            entrypoints=entrypoints,
            models=tuple(dict.fromkeys((*self._tally.models, *usage.models))),
            first_time=find_moment(around.first_time),
            last_time=find_moment(around.last_time),
            counts=self._count(calls, len(agents) if agent_count is None else agent_count),
            totals=usage.totals,
            model_totals=tuple(usage.list_models()),
            cost=None if bill is None else bill.cost,
            unpriced_terms=() if bill is None else tuple(bill.unpriced_terms),
            reported_cost=self._state.find_cost(own),
            agents=agents,
            forked_from=around.forked_from,
            first_prompt=self._tally.first_prompt,
            last_prompt=self._tally.last_prompt,
            series=self._find_series(project, entrypoints),
        )

    def _find_series(self, project: str | None, entrypoints: Sequence[str]) -> str | None:
        tally = self._tally
        if not AUTOMATIONS.issuperset(entrypoints) or not entrypoints or tally.prompts + tally.commands != 1:
            return None
        prompt = tally.read_first_prompt()
        parts = [prompt] if len(prompt) <= 2 * _END else [prompt[:_END], prompt[-_END:]]
        same = [" ".join(_VARYING.sub("0", part).split()) for part in parts]
        if len(same) > 1:
            same = [same[0][:_SURE_END], same[1][-_SURE_END:]]
        if not same[0]:
            return None
        words = "\0".join((project or "", *same))
        return blake2b(words.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()

    def _tally_calls(self) -> CallTally:
        calls = self._own_calls if self._calls is None else self._calls
        if callable(calls):
            return calls()
        return CallTally(calls.build().calls if isinstance(calls, CallBuilder) else calls or ())

    def _open_book(self, prices: Prices | None) -> UsageBook:
        usage = self._own_usage if self._usage is None else self._usage
        return usage() if callable(usage) else UsageBook(usage or UsageFold(), prices)

    def _count(self, calls: CallTally, agents: int) -> Counts:
        tally = self._tally
        types: dict[str, int] = {}
        for kind, lines in self._types.items():
            types[type_name(kind)] = types.get(type_name(kind), 0) + lines
        return Counts(
            lines=sum(self._types.values()),
            types=dict(sorted(types.items())),
            prompts=tally.prompts,
            commands=tally.commands,
            shell_commands=tally.shell_commands,
            answers=tally.answers,
            calls=len(calls),
            failed_calls=calls.count(CallState.FAILED),
            unresolved_calls=calls.count(CallState.UNRESOLVED),
            agents=agents,
            compactions=tally.compactions,
            api_errors=tally.api_errors,
            api_retries=tally.api_retries,
            interruptions=tally.interruptions,
            aborted=tally.aborted,
            deleted=tally.deleted,
            unknown=types.get(_UNKNOWN, 0),
            problems=self._problems,
        )


def type_name(kind: type) -> str:
    """Return what lines call their type: with the subtype of system lines, and the event of hooks."""
    if not issubclass(kind, Struct) or kind is UnknownEntry:
        return _UNKNOWN
    tag, key = kind.__struct_config__.tag, kind.__struct_config__.tag_field
    if tag is None:
        return _COMPACTION
    return f"{_FAMILIES[key]}{tag}" if key in _FAMILIES else str(tag)
