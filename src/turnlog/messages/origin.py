"""Who sent a message: the person, a channel, another agent, a finished task, or the program itself.

One class serves all kinds, because the kinds share their fields and new ones keep coming. Old writers put the
bare kind in place of the object, so a field that holds an origin is `MessageOrigin | str`.
"""

from __future__ import annotations

from turnlog.messages.base import UNSET, Camel, OpenEnum, UnsetType, field

__all__ = ["MessageOrigin", "OriginKind"]


class OriginKind(OpenEnum):
    """What sort of sender it was."""

    HUMAN = "human"
    CHANNEL = "channel"
    PEER = "peer"
    TASK_NOTIFICATION = "task-notification"
    COORDINATOR = "coordinator"
    UNCLASSIFIED = "unclassified"
    OBSERVER = "observer"
    OBSERVER_ACTIVITY = "observer-activity"
    AUTO_CONTINUATION = "auto-continuation"


class MessageOrigin(Camel):
    """Who sent a message, and by which way it came."""

    kind: OriginKind | UnsetType = UNSET
    server: str | None | UnsetType = UNSET
    """The server of a channel."""
    sender: str | None | UnsetType = field(name="from", default=UNSET)
    """The agent or session that sent it."""
    from_mode: str | None | UnsetType = UNSET
    """The sender's permission mode: `bypass` or `prompting`."""
    from_session: str | None | UnsetType = UNSET
    name: str | None | UnsetType = UNSET
    sender_task_id: str | None | UnsetType = UNSET
    body: str | None | UnsetType = UNSET
    """The sender's own words, without what was put around them for the model."""
    msg_id: str | None | UnsetType = field(name="msg_id", default=UNSET)
    verified_peer_pid: int | None | UnsetType = UNSET
    hop_chain: tuple[str, ...] | None | UnsetType = UNSET
    """The sessions it passed through."""
    handback: bool | UnsetType = UNSET
    """Whether it is the final report of a sub-agent."""
    subkind: str | None | UnsetType = UNSET
    """What sort of notification: `scheduled-trigger`, `peer-send-message` and the like."""
    producer: str | None | UnsetType = UNSET
    fire_reason: str | None | UnsetType = UNSET
    run_id: str | None | UnsetType = UNSET
