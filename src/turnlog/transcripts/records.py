"""What is kept of one file of lines, besides its bytes: packed records, in the order of the file.

A record follows from the lines of its session and is replaced when a new line changes it. Bodies are not kept
twice: records say which lines they are made of, and the bytes are elsewhere. Whatever a record refers to is of
the same file: lines, messages and calls by their numbers, from 0. Turns and agents are of the whole session.
"""

from __future__ import annotations

from msgspec import Struct

from turnlog.instants import from_microseconds
from turnlog.transcripts.hooks.deliveries import Told
from turnlog.transcripts.usage.tokens import Attribution, Sighting, Terms, Tokens


class LineRecord(Struct, frozen=True, gc=False, kw_only=True, array_like=True):
    """A line: where it stands, what it says about itself, and where it went."""

    number: int
    offset: int
    length: int
    """Of the line's own bytes, without the newline."""
    type: str
    """As `Counts.types` spells it: with the subtype of system lines behind a slash."""
    time: int | None = None
    """Microseconds since 1970, UTC."""
    message: int | None = None
    """The message that it was made into or is folded into; None if it is not shown."""
    uuid: str | None = None
    parent_uuid: str | None = None
    session_id: str | None = None
    is_sidechain: bool = False
    problems: int = 0


class MessageRecord(Struct, frozen=True, gc=False, kw_only=True, array_like=True):
    """A message as people read it (`transcripts.Message`)."""

    index: int
    id: str
    lines: tuple[int, ...]
    """What it is made of, then what is folded into it."""
    own_lines: int
    """How many of `lines` it is made of."""
    rule: str
    role: str
    types: tuple[str, ...]
    author: str
    lane: str
    is_sidechain: bool
    parent: int | None = None
    """The message that it follows."""
    turn: int | None = None
    time: int | None = None
    reached: int | None = None
    """The latest time that its first line or a line above it has: by it, what other sources tell is put between
    messages. It never falls from one message to the next, as times in files do."""
    branch: int = 0
    active: bool = True
    """Whether it is on the way to the newest message."""
    calls: int = 0
    model: str | None = None
    category: str | None = None
    agent_id: str | None = None
    aborted: bool = False


class CallRecord(Struct, frozen=True, gc=False, kw_only=True, array_like=True):
    """A tool call with what came of it."""

    index: int
    id: str | None
    name: str
    category: str
    state: str
    line: int
    block: int
    """Which block of its line it is."""
    message: int | None = None
    """The message that made it."""
    result_line: int | None = None
    result_block: int | None = None
    """Which block of that line the result is."""
    started: int | None = None
    ended: int | None = None
    reached: int | None = None
    """The latest time that its line or one above it has."""
    answer: str | None = None
    """The answer of the model that made it, as usage knows it."""
    path: str | None = None
    """The file that it works on, where it works on one."""
    changes_file: bool = False
    agent_id: str | None = None


class EventRecord(Struct, frozen=True, gc=False, kw_only=True, array_like=True):
    """What happened by a line that is no call."""

    line: int
    category: str
    name: str
    state: str
    message: int | None = None
    """The message that the line went into."""
    time: int | None = None
    """When it began, in microseconds since 1970; None if that is not known."""
    reached: int | None = None
    """The latest time that its line or one above it has."""
    duration_ms: int | None = None
    hook: str | None = None
    """The hook event that it tells of."""
    tool_use_id: str | None = None
    """The call that this was about, or an id of its own."""

    @property
    def told(self) -> Told:
        """If it tells of a hook event, what decides which delivery tells of the same."""
        return Told(self.hook or "", self.tool_use_id, self.time)


class SightingRecord(Struct, frozen=True, gc=False, kw_only=True, array_like=True):
    """What the file says about the usage of one answer (`transcripts.Sighting`)."""

    message_id: str
    session_id: str
    offset: int
    time: int | None
    model: str | None
    input: int
    output: int
    cache_read: int
    cache_write_5m: int
    cache_write_1h: int
    web_searches: int
    ended: bool
    service_tier: str | None = None
    speed: str | None = None
    inference_geo: str | None = None
    agent: str | None = None
    agent_id: str | None = None
    skill: str | None = None
    plugin: str | None = None
    mcp_server: str | None = None
    mcp_tool: str | None = None

    def unpack(self, source: str) -> Sighting:
        """Return what a file says, as `transcripts` has it."""
        return Sighting(
            message=self.message_id,
            session=self.session_id,
            source=source,
            offset=self.offset,
            time=None if self.time is None else from_microseconds(self.time),
            model=self.model,
            tokens=Tokens(
                self.input,
                self.output,
                self.cache_read,
                self.cache_write_5m,
                self.cache_write_1h,
                self.web_searches,
            ),
            terms=Terms(self.service_tier, self.speed, self.inference_geo),
            attribution=Attribution(
                self.agent, self.agent_id, self.skill, self.plugin, self.mcp_server, self.mcp_tool
            ),
            ended=self.ended,
        )


class TurnRecord(Struct, frozen=True, gc=False, kw_only=True, array_like=True):
    """A prompt and all that answers it."""

    index: int
    prompt: int
    """Its first message, among those of the transcript."""
    last: int
    """Its last one; others between them may be of other turns."""
    messages: int
    calls: int
    agents: int
    files_changed: int
    started: int | None = None
    ended: int | None = None
    duration_ms: int | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    cost: str | None = None
    """In dollars, digit for digit."""


class AgentRecord(Struct, frozen=True, gc=False, kw_only=True, array_like=True):
    """A sub-agent and the call that started it."""

    index: int
    id: str
    state: str
    depth: int
    inline: bool
    background: bool
    file: str | None = None
    """The source of its own lines, where it has a file."""
    parent_id: str | None = None
    run_id: str | None = None
    type: str | None = None
    description: str | None = None
    call: int | None = None
    """The call that started it, among those of `call_source`."""
    call_source: str | None = None
    linked_by: str | None = None
    inherited: int = 0
    """How many lines of its file are copies of its parent's, if it was forked."""
    lines: tuple[int, ...] = ()
    """Those of its lines that stand in the transcript: all of an inline one's."""
