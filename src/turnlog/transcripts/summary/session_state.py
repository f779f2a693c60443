"""What lines beside the conversation say about a session; the last word counts.

Modes, names, tags and links are appended again and again. An empty tag or name takes it away, and a worktree
that was left is none.
"""

from __future__ import annotations

from decimal import Decimal

from msgspec import Struct, UnsetType

from turnlog.messages.dialects import AnyEntry
from turnlog.messages.entries import UserEntry
from turnlog.messages.metadata import (
    AgentColor,
    AgentName,
    AgentSetting,
    ContinuedIn,
    CostState,
    Mode,
    PermissionModeChange,
    PrLink,
    Tag,
    WorktreeSession,
    WorktreeState,
)
from turnlog.messages.sdk import ResultMessage, SystemInitMessage
from turnlog.transcripts.usage.fold import find_reported_cost


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
        AgentColor,
        AgentName,
        AgentSetting,
        ContinuedIn,
        CostState,
        Mode,
        PermissionModeChange,
        PrLink,
        ResultMessage,
        SystemInitMessage,
        Tag,
        UserEntry,
        WorktreeState,
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
            case UserEntry() | PermissionModeChange() | SystemInitMessage():
                if entry.permission_mode:
                    self._said["permission_mode"] = str(entry.permission_mode)
            case Mode():
                self._said["mode"] = entry.mode or None
            case CostState() | ResultMessage():
                self._costs[entry.session_id or None] = find_reported_cost(entry)
            case Tag():
                self._said["tag"] = entry.tag or None
            case AgentName():
                self._said["agent_name"] = entry.agent_name or None
            case AgentColor():
                self._said["agent_color"] = entry.agent_color or None
            case AgentSetting():
                self._said["agent_setting"] = entry.agent_setting or None
            case ContinuedIn():
                self._said["continued_in"] = entry.continued_in_session_id or None
            case WorktreeState():
                self._worktree = _worktree(entry.worktree_session)
            case PrLink():
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


def _worktree(told: WorktreeSession | None | UnsetType) -> Worktree | None:
    if not told:
        return None
    return Worktree(told.worktree_path or None, told.worktree_name or None, told.worktree_branch or None)
