"""What a store keeps of a session, besides the bytes.

Facts come from lines and never change. Derived rows follow from all facts of a session together; they are
replaced, under a new revision, when the session changes. Bodies are not kept twice: rows say where the lines
are, and the archive has them.

Messages, calls, placements and sightings are rows of a *chapter*: one file of lines, the transcript or an
agent's. They are counted from 0 in each, so that what is appended to one file leaves the rows of all others
alone. The session, its turns and its agents are rows of the whole.
"""

from __future__ import annotations

from msgspec import Struct

from turnlog.store.identity import Place

__all__ = [
    "AgentRow",
    "CallRow",
    "ChapterRow",
    "DerivedRow",
    "LineFact",
    "MessageRow",
    "PlacementRow",
    "SessionRow",
    "SightingRow",
    "TurnRow",
]


class LineFact(Struct, frozen=True, gc=False, kw_only=True, array_like=True):
    """What one line says about itself."""

    offset: int
    length: int
    """Of the line's own bytes, without the newline."""
    number: int
    """Which line of its generation it is, from 0."""
    dialect: str
    type: str
    """As `Counts.types` spells it: with the subtype of system lines behind a slash."""
    uuid: str | None = None
    parent_uuid: str | None = None
    session_id: str | None = None
    agent_id: str | None = None
    message_id: str | None = None
    time: int | None = None
    """Microseconds since 1970, UTC."""
    is_sidechain: bool = False
    problems: int = 0


class DerivedRow(Struct, frozen=True, gc=False, kw_only=True, array_like=True):
    """A row that is replaced when its session changes, known by its kind, its chapter and its index."""

    index: int


class ChapterRow(DerivedRow, frozen=True, gc=False, kw_only=True, array_like=True):
    """A row of a chapter; indexes that it names are of the same one."""

    source: str
    """The file whose row it is."""


class MessageRow(ChapterRow, frozen=True, gc=False, kw_only=True, array_like=True):
    """A message as people read it (`transcripts.Message`), of the transcript or of an agent's file."""

    id: str
    lines: tuple[Place, ...]
    """What it is made of, then what is folded into it."""
    own_lines: int
    """How many of `lines` it is made of."""
    rule: str
    role: str
    types: tuple[str, ...]
    author: str
    lane: str
    is_sidechain: bool
    category: str | None = None
    agent_id: str | None = None
    parent: int | None = None
    """The index of the message that it follows."""
    branch: int = 0
    active: bool = True
    """Whether it is on the way to the newest message."""
    turn: int | None = None
    time: int | None = None
    model: str | None = None
    aborted: bool = False
    calls: int = 0
    reached: int | None = None
    """The latest time that its first line or a line above it has: by it, what other sources tell is put between
    messages. It never falls from one message to the next, as times in files do."""


class CallRow(ChapterRow, frozen=True, gc=False, kw_only=True, array_like=True):
    """A tool call with what came of it."""

    id: str | None
    name: str
    category: str
    state: str
    at: Place
    block: int
    """Which block of its line it is."""
    message: int | None = None
    """The index of the message that made it."""
    result_at: Place | None = None
    result_block: int | None = None
    """Which block of that line the result is."""
    agent_id: str | None = None
    path: str | None = None
    """The file that it works on, where it works on one."""
    changes_file: bool = False
    started: int | None = None
    ended: int | None = None
    line: int = 0
    """Which line of the file it stands in."""
    reached: int | None = None
    """The latest time that this line or one above it has."""


class PlacementRow(ChapterRow, frozen=True, gc=False, kw_only=True, array_like=True):
    """Where a line went, and what happened by it: `index` is its number in the newest generation."""

    message: int | None = None
    """The index of the message that it was made into or is folded into; None if it is not shown."""
    category: str | None = None
    """If it is an event, its sort; the fields below are of events alone."""
    name: str | None = None
    state: str | None = None
    duration_ms: int | None = None
    hook: str | None = None
    """The hook event that it tells of."""
    tool_use_id: str | None = None
    """The call that this was about, or an id of its own."""
    time: int | None = None
    """When it began; None if that is not known."""
    reached: int | None = None
    """The latest time that it or a line above it has."""


class TurnRow(DerivedRow, frozen=True, gc=False, kw_only=True, array_like=True):
    """A prompt and all that answers it."""

    prompt: int
    """The index of its first message, among those of the transcript."""
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


class AgentRow(DerivedRow, frozen=True, gc=False, kw_only=True, array_like=True):
    """A sub-agent and the call that started it."""

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
    """The index of the call that started it, among those of `call_source`."""
    call_source: str | None = None
    linked_by: str | None = None


class SightingRow(ChapterRow, frozen=True, gc=False, kw_only=True, array_like=True):
    """What one file of the session says about the usage of one answer (`transcripts.Sighting`)."""

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


class SessionRow(DerivedRow, frozen=True, gc=False, kw_only=True, array_like=True):
    """A session in the lists: what is sorted and filtered by. `index` is always 0."""

    session_id: str | None
    title: str | None
    project: str | None
    first_time: int | None
    last_time: int | None
    prompts: int
    answers: int
    calls: int
    agents: int
    lines: int
    problems: int
    input_tokens: int
    output_tokens: int
    cost: str | None
    summary: bytes
    """All of it: `transcripts.Summary` as JSON."""
    messages: int = 0
    """Of the transcript."""
    errors: int = 0
    """Calls and requests that failed."""
    models: tuple[str, ...] = ()
    branches: tuple[str, ...] = ()
    """Of git."""
    series: str | None = None
    """What all sessions have in common that programs started with the same prompt: see `Summary`."""
