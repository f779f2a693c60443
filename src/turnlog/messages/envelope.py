"""What all lines of a conversation say about themselves: who, when, where, and after what.

Hardly anything here is required. Real files leave out each of these fields somewhere, and a line without a
`uuid` is still worth reading.
"""

from datetime import UTC, datetime, timedelta
from functools import lru_cache

from turnlog.instants import EPOCH, to_microseconds
from turnlog.messages.base import UNSET, Camel, Number, OpenEnum, UnsetType, field


class PermissionMode(OpenEnum):
    """What Claude Code may do without asking."""

    DEFAULT = "default"
    ACCEPT_EDITS = "acceptEdits"
    BYPASS_PERMISSIONS = "bypassPermissions"
    PLAN = "plan"
    DELEGATE = "delegate"
    DONT_ASK = "dontAsk"
    AUTO = "auto"


class ForkedFrom(Camel):
    """Where a forked session left its origin."""

    session_id: str | UnsetType = UNSET
    message_uuid: str | UnsetType = UNSET


class Envelope(Camel):
    """The fields that any line of a conversation may carry, in the order in which files write them.

    The decoder looks for each key behind the one before, so the order is worth a tenth of its time.
    """

    parent_uuid: str | None | UnsetType = UNSET
    is_sidechain: bool | None | UnsetType = UNSET
    user_type: str | None | UnsetType = UNSET
    entrypoint: str | None | UnsetType = UNSET
    cwd: str | None | UnsetType = UNSET
    session_id: str | None | UnsetType = UNSET
    version: str | None | UnsetType = UNSET
    git_branch: str | None | UnsetType = UNSET
    slug: str | None | UnsetType = UNSET
    agent_id: str | None | UnsetType = UNSET
    prompt_id: str | None | UnsetType = UNSET
    uuid: str | UnsetType = UNSET
    timestamp: str | Number | UnsetType = UNSET
    """As it stands: ISO 8601 today, milliseconds in an older dialect. `time` is the instant."""
    second_session_id: str | None | UnsetType = field(name="session_id", default=UNSET)
    """A second key of newer versions; where it disagrees, `session_id` counts."""
    is_meta: bool | None | UnsetType = UNSET
    logical_parent_uuid: str | None | UnsetType = UNSET
    sidechain_parent_uuid: str | None | UnsetType = UNSET
    session_kind: str | None | UnsetType = UNSET
    team_name: str | None | UnsetType = UNSET
    agent_name: str | None | UnsetType = UNSET
    agent_color: str | None | UnsetType = UNSET
    forked_from: ForkedFrom | str | None | UnsetType = UNSET
    leaf_uuid: str | None | UnsetType = UNSET
    attribution_agent: str | None | UnsetType = UNSET
    is_teammate: bool | None | UnsetType = UNSET
    is_error: bool | None | UnsetType = UNSET
    """Specs 000 and 004, as the four that follow."""
    is_deleted: bool | None | UnsetType = UNSET
    is_aborted: bool | None | UnsetType = UNSET
    is_active: bool | None | UnsetType = field(name="is_active", default=UNSET)
    """Spec 004: the line is on the branch that was last in use."""

    @property
    def time(self) -> datetime | None:
        """The instant of the line in UTC, whatever form its dialect gives it."""
        return instant(self.timestamp)


class Head(Envelope, forbid_unknown_fields=False):
    """A line's type and envelope, without what it says."""

    type: str | None | UnsetType = UNSET
    subtype: str | None | UnsetType = UNSET


def instant(timestamp: str | Number | None | UnsetType) -> datetime | None:
    """Return a timestamp (ISO 8601, or Unix milliseconds) as a UTC instant; None if it is none."""
    if isinstance(timestamp, str):
        return _read_iso(timestamp) if len(timestamp) < _LONGEST else None
    try:
        return EPOCH + timedelta(milliseconds=timestamp) if isinstance(timestamp, int | float) else None
    except (ValueError, OverflowError):
        return None


def read_microseconds(timestamp: object) -> int | None:
    """Return a timestamp as `instant` reads it, in microseconds since 1970."""
    if type(timestamp) is str and len(timestamp) < _LONGEST:
        return _count_iso(timestamp)
    moment = instant(timestamp) if isinstance(timestamp, int | float) else None
    return None if moment is None else to_microseconds(moment)


# Several rules ask for the time of the same line; nothing long is kept.
_LONGEST = 64


@lru_cache(maxsize=1 << 13)
def _count_iso(timestamp: str) -> int | None:
    moment = _read_iso(timestamp)
    return None if moment is None else to_microseconds(moment)


@lru_cache(maxsize=1024)
def _read_iso(timestamp: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(timestamp)
        if moment.tzinfo is UTC:  # as nearly all are
            return moment
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
