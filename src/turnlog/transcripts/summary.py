"""A session at a glance: what it is called, what it ran with, how much of everything is in it.

`SummaryFold` takes lines one by one, and can be asked at any time: the summary of a file that grew is the one
that reading all of it again would give. It counts what it is given: the lines of one file, or those of a
session and of its agents' files behind them.

- A line that is copied within a file (the same `uuid`) is a line like any other, but no second message.
- The session is the one that most lines name, among equals the first; others are listed.
- Times are the earliest and the latest that any line bears: in file order they run backwards now and then.
- Prompts are what people typed, queued prompts included. Slash commands and shell commands are counted apart,
  because most of them ask nothing of the model.
- An answer is one `message.id`, however many lines it is on, a sub-agent's, too; what the program wrote in a
  model's place is none. Deleted lines are counted as such, and as nothing else.

A program that starts sessions again and again with one prompt (a cron job, CI, a loop around `claude -p`) makes
a *series* of them, which lists show as one. A session belongs to a series if nobody but a program had a hand in
it: every line that names an entrypoint names one of `AUTOMATIONS`, and there is one prompt or command, no more.
Editors that run Claude Code through the SDK have these entrypoints, too, but people go on talking there.
`promptSource` does not tell the two apart (prompts typed in VS Code say `sdk`), nor does `userType`. A session
without any entrypoint, as older versions wrote them, belongs to none.

Which series it is follows from the project and the prompt. What varies between runs does not count: blanks,
numbers and dates, hexadecimal names of seven characters or more, UUIDs, and paths of temporary files. Of a
prompt of more than 512 characters, its beginning and its end count.

All lines of a conversation repeat where and when they were written, which seldom changes. So lines are counted
by the whole of what they say about it, in one step, and taken apart only when somebody asks.

Of what lines beside the conversation say about a session, the last word counts: modes, names, tags and links
are appended again and again. An empty tag or name takes it away, and a worktree that was left is none.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from enum import IntEnum
from hashlib import blake2b
from operator import attrgetter

from msgspec import Struct
from msgspec.structs import asdict

from turnlog.instants import find_moment
from turnlog.messages import UNSET, AnyEntry, Line, UnsetType, entries, metadata
from turnlog.messages.attachments import QueuedCommand
from turnlog.messages.blocks import TextBlock
from turnlog.messages.envelope import Envelope, ForkedFrom, read_microseconds
from turnlog.messages.sdk.messages import (
    ApiRetryMessage,
    AssistantMessage,
    CompactBoundaryMessage,
    ResultMessage,
    SystemInitMessage,
    UserMessage,
    UserMessageReplay,
)
from turnlog.messages.system import ApiErrorNotice, CompactBoundary
from turnlog.transcripts.call_builder import CallBuilder
from turnlog.transcripts.calls import Call
from turnlog.transcripts.kinds import CallState
from turnlog.transcripts.lines.content import Author, author_of, is_result, list_prompt_texts
from turnlog.transcripts.lines.prompts import PROGRAM_KINDS, PromptKind, kind_of, read_prompt
from turnlog.transcripts.session_files import project_name
from turnlog.transcripts.titles import TITLE_TYPES, Title, TitleFold, shorten_title
from turnlog.transcripts.usage.prices import Prices
from turnlog.transcripts.usage.sightings import ModelTotals, UsageBook, UsageFold, find_reported_cost
from turnlog.transcripts.usage.tokens import Totals


class PullRequest(Struct, frozen=True, gc=False):
    """A pull request that the session made."""

    number: int | None = None
    url: str | None = None
    repository: str | None = None


class Worktree(Struct, frozen=True, gc=False):
    """The worktree that a session is in."""

    path: str | None = None
    name: str | None = None
    branch: str | None = None


class SessionState(Struct, frozen=True, gc=False, kw_only=True):
    """What a session was last said to be."""

    tag: str | None = None
    mode: str | None = None
    permission_mode: str | None = None
    agent_name: str | None = None
    """The display name of the session, or of the agent that it is."""
    agent_color: str | None = None
    agent_setting: str | None = None
    """The kind of agent that the session was started as."""
    worktree: Worktree | None = None
    continued_in: str | None = None
    """The session in which this one goes on."""
    pull_requests: tuple[PullRequest, ...] = ()
    """Each once, in order of appearance."""


STATE_TYPES = frozenset(
    {
        metadata.AgentColor,
        metadata.AgentName,
        metadata.AgentSetting,
        metadata.ContinuedIn,
        metadata.CostState,
        metadata.Mode,
        metadata.PermissionModeChange,
        metadata.PrLink,
        ResultMessage,
        SystemInitMessage,
        metadata.Tag,
        entries.UserEntry,
        metadata.WorktreeState,
    }
)
"""The entries that tell something of it; others need not be added."""


class SessionStateFold:
    """The state of a session, as its lines come in."""

    def __init__(self) -> None:
        self._said: dict[str, str | None] = {}
        self._worktree: Worktree | None = None
        self._pull_requests: dict[object, PullRequest] = {}
        self._costs: dict[str | None, Decimal | None] = {}

    def add(self, entry: AnyEntry) -> None:
        """Take the next line's entry."""
        match entry:
            case entries.UserEntry() | metadata.PermissionModeChange() | SystemInitMessage():
                if entry.permission_mode:
                    self._said["permission_mode"] = str(entry.permission_mode)
            case metadata.Mode():
                self._said["mode"] = entry.mode or None
            case metadata.CostState() | ResultMessage():
                self._costs[entry.session_id or None] = find_reported_cost(entry)
            case metadata.Tag():
                self._said["tag"] = entry.tag or None
            case metadata.AgentName():
                self._said["agent_name"] = entry.agent_name or None
            case metadata.AgentColor():
                self._said["agent_color"] = entry.agent_color or None
            case metadata.AgentSetting():
                self._said["agent_setting"] = entry.agent_setting or None
            case metadata.ContinuedIn():
                self._said["continued_in"] = entry.continued_in_session_id or None
            case metadata.WorktreeState():
                self._worktree = _worktree(entry.worktree_session)
            case metadata.PrLink():
                link = PullRequest(entry.pr_number or None, entry.pr_url or None, entry.pr_repository or None)
                self._pull_requests[link.url or (link.repository, link.number)] = link

    def build(self) -> SessionState:
        """Return what holds after all lines so far."""
        return SessionState(
            **self._said, worktree=self._worktree, pull_requests=tuple(self._pull_requests.values())
        )

    def find_cost(self, session: str | None) -> Decimal | None:
        """Return the running total in dollars that the program reported last for a session, or None."""
        return self._costs.get(session)


def _worktree(told: metadata.WorktreeSession | None | UnsetType) -> Worktree | None:
    if not told:
        return None
    return Worktree(told.worktree_path or None, told.worktree_name or None, told.worktree_branch or None)


_Values = tuple[str | None | UnsetType, ...]


class Feature(IntEnum):
    """What a line says about where it was written."""

    SESSION = 0
    CWD = 1
    VERSION = 2
    BRANCH = 3
    ENTRYPOINT = 4
    AGENT = 5


class Surroundings:
    """What lines say about where and when they were written, so far."""

    def __init__(self) -> None:
        self.first_time: int | None = None
        """The earliest, not the one that stands first: in file order times run backwards now and then."""
        self.last_time: int | None = None
        self.forked_from: str | None = None
        """The session that a line names as its origin, the first that one does."""
        self._lines: dict[_Values, int] = {}
        self._where: _Values = ()
        self._run = 0

    def add(self, entry: AnyEntry) -> None:
        """Take the next line's entry."""
        kind = type(entry)
        read = _READERS.get(kind)
        if read is None:
            read = _READERS[kind] = attrgetter(*_NAMES) if issubclass(kind, Envelope) else _read_other
        where = read(entry)
        if where == self._where:  # as a rule, and quicker to see than to look up
            self._run += 1
        else:
            self._end_run()
            self._where, self._run = where, 1
        timestamp = getattr(entry, "timestamp", UNSET)
        if timestamp is not UNSET:
            self._add_time(read_microseconds(timestamp))
        origin = getattr(entry, "forked_from", UNSET)
        if origin is not UNSET and self.forked_from is None:
            self.forked_from = (origin.session_id if isinstance(origin, ForkedFrom) else origin) or None

    def count_values(self, feature: Feature) -> dict[str, int]:
        """Return how many lines say each value of a feature, in order of appearance."""
        counts: dict[str, int] = {}
        self._end_run()
        for values, lines in self._lines.items():
            value = values[feature]
            if value and value not in _NOTHING:
                counts[value] = counts.get(value, 0) + lines
        return counts

    def list_values(self, feature: Feature) -> tuple[str, ...]:
        """Return the different values of a feature, in order of appearance."""
        return tuple(self.count_values(feature))

    def _end_run(self) -> None:
        if self._run:
            self._lines[self._where] = self._lines.get(self._where, 0) + self._run
            self._run = 0

    def _add_time(self, moment: int | None) -> None:
        if moment is None:
            return
        if self.first_time is None or self.last_time is None:
            self.first_time = self.last_time = moment
        elif moment > self.last_time:
            self.last_time = moment
        elif moment < self.first_time:
            self.first_time = moment


_NAMES = ("session_id", "cwd", "version", "git_branch", "entrypoint", "agent_id")
_NOTHING = frozenset({"HEAD"})  # what stands for a branch when there is none


def _read_init(entry: AnyEntry) -> _Values:
    session, cwd, _, *rest = _read_other(entry)
    return session, cwd, getattr(entry, "claude_code_version", UNSET), *rest


def _read_other(entry: AnyEntry) -> _Values:
    return tuple(getattr(entry, name, UNSET) for name in _NAMES)


_READERS: dict[type, Callable[[AnyEntry], _Values]] = {SystemInitMessage: _read_init}
"""How each type is read; of others it is found out when the first of it comes."""


class CallTally:
    """What calls amount to, as more come and some change."""

    def __init__(self, calls: Iterable[Call] = ()) -> None:
        self._states: list[CallState] = []
        self._counts: Counter[CallState] = Counter()
        self._agents: dict[int, str] = {}
        for position, call in enumerate(calls):
            self.put(position, call)

    def __len__(self) -> int:
        return len(self._states)

    @property
    def agents(self) -> list[str]:
        """The agents that calls started, in order."""
        return [agent for _, agent in sorted(self._agents.items())]

    def put(self, position: int, call: Call) -> None:
        """Take the call at a position, which is the next one or one that has changed."""
        if position < len(self._states):
            self._counts[self._states[position]] -= 1
            self._states[position] = call.state
        else:
            self._states.append(call.state)
        self._counts[call.state] += 1
        if call.agent_id is not None:
            self._agents[position] = call.agent_id
        elif self._agents:
            self._agents.pop(position, None)

    def count(self, state: CallState) -> int:
        """Return how many calls are in a state."""
        return self._counts[state]


_SYNTHETIC = "<synthetic>"
_LONGEST_PROMPT = 200
_AROUND = PROGRAM_KINDS | {PromptKind.CONTEXT}
_COUNTED = frozenset(  # asking a set is much faster than trying types one by one
    {
        ApiErrorNotice,
        ApiRetryMessage,
        AssistantMessage,
        entries.AttachmentEntry,
        CompactBoundary,
        CompactBoundaryMessage,
        entries.CompactionEntry,
        metadata.LastPrompt,
    }
)


class Tally:
    """What lines hold, so far."""

    def __init__(self) -> None:
        self.prompts = 0
        self.commands = 0
        self.shell_commands = 0
        self.compactions = 0
        self.api_errors = 0
        self.api_retries = 0
        self.interruptions = 0
        self.deleted = 0
        self.models: dict[str, None] = {}
        """In order of first use."""
        self._first_prompt = ""
        self._last_prompt = ""
        self._answers: set[str] = set()
        self._nameless = 0
        self._aborted: set[str] = set()

    def finish(self) -> None:
        """Let go of the names of answers: nothing comes any more."""
        self._nameless += len(self._answers)
        self._answers.clear()

    @property
    def answers(self) -> int:
        """How many answers there are."""
        return len(self._answers) + self._nameless

    @property
    def aborted(self) -> int:
        """How many messages were cut off."""
        return len(self._aborted)

    @property
    def first_prompt(self) -> str | None:
        """The first line of the first prompt, shortened."""
        return shorten_title(self.read_first_prompt(), _LONGEST_PROMPT) or None

    @property
    def last_prompt(self) -> str | None:
        """The first line of what was typed last, or of what the program says was."""
        return shorten_title(read_prompt(self._last_prompt).text, _LONGEST_PROMPT) or None

    def read_first_prompt(self) -> str:
        """Return all of the first prompt, without tags and envelopes; empty if there is none."""
        return read_prompt(self._first_prompt).text

    def add(self, line: Line) -> None:
        """Take the next line, unless it is a copy of one before."""
        entry = line.entry
        if getattr(entry, "is_deleted", None) is True:
            self.deleted += 1
        elif type(entry) is entries.AssistantEntry:
            self._add_answer(entry, entry.is_api_error_message is True)
            if entry.is_aborted_mid_stream is True or entry.is_aborted is True:
                self._aborted.add(entry.message.id or entry.uuid or "")
        elif type(entry) is entries.UserEntry or type(entry) is UserMessage or type(entry) is UserMessageReplay:
            self._add_prompt(line, entry.message.content)
        elif type(entry) in _COUNTED:
            self._count(line)

    def _count(self, line: Line) -> None:
        match line.entry:
            case entries.AttachmentEntry(attachment=QueuedCommand(prompt=queued)):
                self._add_prompt(line, queued)
            case AssistantMessage() as entry:
                self._add_answer(entry, isinstance(entry.error, str))
                if entry.aborted is True:
                    self._aborted.add(entry.message.id or entry.uuid or "")
            case CompactBoundary() | CompactBoundaryMessage():
                self.compactions += 1
            case entries.CompactionEntry(phase=entries.CompactionPhase.COMPACTED):
                self.compactions += 1
            case ApiErrorNotice() | ApiRetryMessage():
                self.api_retries += 1
            case metadata.LastPrompt(last_prompt=str(text)) if text.strip():
                self._last_prompt = text

    def _add_answer(self, entry: entries.AssistantEntry | AssistantMessage, failed: bool) -> None:
        message = entry.message
        if failed:
            self.api_errors += 1
        elif message.model != _SYNTHETIC:
            if message.model:
                self.models[message.model] = None
            key = message.id or entry.uuid
            if key:
                self._answers.add(key)
            else:
                self._nameless += 1

    def _add_prompt(self, line: Line, content: object) -> None:
        blocks = content if isinstance(content, tuple) else ()
        if len(blocks) == 1 and is_result(blocks[0]):
            return
        said = {text: kind_of(text) for text in list_prompt_texts(line.entry)}
        if PromptKind.INTERRUPTION in said.values():
            self.interruptions += 1
        if (said and all(kind in PROGRAM_KINDS for kind in said.values())) or not _is_human(line):
            return
        typed = {text: kind for text, kind in said.items() if kind not in _AROUND}
        if PromptKind.COMMAND in typed.values():
            self.commands += 1
        elif PromptKind.SHELL in typed.values():
            self.shell_commands += 1
        elif typed or any(type(block) is not TextBlock for block in blocks):
            self.prompts += 1
        self._last_prompt = next(iter(typed), self._last_prompt)
        self._first_prompt = self._first_prompt or next(iter(typed), "")


def _is_human(line: Line) -> bool:
    entry = line.entry
    meta = isinstance(entry, entries.AttachmentEntry) and getattr(entry.attachment, "is_meta", None) is True
    return not meta and author_of(line) is Author.HUMAN


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
        usage: Callable[[], UsageBook] | None = None,
        calls: Callable[[], CallTally] | None = None,
    ) -> None:
        """Begin with nothing; `folder` is the name of the project's folder.

        Where `usage` or `calls` are given, they are only asked, when the summary is built: whoever has them
        takes care of the lines. A book has prices of its own.
        """
        self._folder = folder
        self._own_usage = UsageFold()
        self._own_calls = CallBuilder()
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
        if self._usage is None:
            self._own_usage.add(line)
        if self._calls is None:
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
        around = self._surroundings
        calls = CallTally(self._own_calls.build().calls) if self._calls is None else self._calls()
        usage = UsageBook(self._own_usage, prices) if self._usage is None else self._usage()
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
    if not issubclass(kind, Struct) or kind is entries.UnknownEntry:
        return _UNKNOWN
    tag, key = kind.__struct_config__.tag, kind.__struct_config__.tag_field
    if tag is None:
        return _COMPACTION
    return f"{_FAMILIES[key]}{tag}" if key in _FAMILIES else str(tag)
