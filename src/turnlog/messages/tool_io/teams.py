"""Tools by which agents work together: SendMessage, teams, and what an agent hands back."""

from __future__ import annotations

from typing import ClassVar

from turnlog.messages.base import UNSET, Camel, Open, Snake, UnknownBlock, UnsetType, field


class ProtocolMessageBase(Snake, tag_field="type"):
    """What every message that is not plain text has: a type."""

    type: ClassVar[str]


class ShutdownRequest(ProtocolMessageBase, tag="shutdown_request"):
    """A request that an agent end its work."""

    request_id: str | UnsetType = UNSET
    reason: str | UnsetType = UNSET


class ShutdownResponse(ProtocolMessageBase, tag="shutdown_response"):
    """An agent's answer to a request that it end its work."""

    request_id: str | UnsetType = UNSET
    approve: bool | UnsetType = UNSET
    reason: str | UnsetType = UNSET


class PlanApprovalResponse(ProtocolMessageBase, tag="plan_approval_response"):
    """A leader's answer to an agent's plan."""

    request_id: str | UnsetType = UNSET
    approve: bool | UnsetType = UNSET
    feedback: str | UnsetType = UNSET


ProtocolMessage = Open[ShutdownRequest | ShutdownResponse | PlanApprovalResponse, UnknownBlock]


class SendMessageInput(Snake):
    """A message for another agent.

    The first versions named the addressee `recipient`, the text `content`, and put a protocol message's
    fields beside them; some models still send both spellings.
    """

    to: str | UnsetType = UNSET
    message: str | ProtocolMessage | UnsetType = UNSET
    summary: str | UnsetType = UNSET
    notify_when_idle: bool | UnsetType = UNSET
    type: str | UnsetType = UNSET
    """`message`, `broadcast`, or a protocol message's type."""
    recipient: str | UnsetType = UNSET
    content: str | UnsetType = UNSET
    request_id: str | UnsetType = UNSET
    approve: bool | UnsetType = UNSET
    reason: str | UnsetType = UNSET


class MessageRouting(Camel):
    """The way that a message took."""

    sender: str | UnsetType = UNSET
    sender_color: str | UnsetType = UNSET
    target: str | UnsetType = UNSET
    target_color: str | UnsetType = UNSET
    summary: str | UnsetType = UNSET
    content: str | UnsetType = UNSET


class MessagePin(Camel):
    """The agent that the addressee's name stands for from now on."""

    id: str | UnsetType = UNSET
    name: str | UnsetType = UNSET
    ref: str | UnsetType = UNSET


class SendMessageResult(Camel):
    """A message that was delivered, or woke an agent up."""

    success: bool
    message: str
    routing: MessageRouting | UnsetType = UNSET
    resumed_agent_id: str | UnsetType = UNSET
    msg_id: str | UnsetType = field(name="msg_id", default=UNSET)
    request_id: str | UnsetType = field(name="request_id", default=UNSET)
    target: str | UnsetType = UNSET
    recipients: tuple[str, ...] | UnsetType = UNSET
    pin: MessagePin | UnsetType = UNSET


class TeamCreateInput(Snake):
    """A team to form."""

    team_name: str
    description: str | UnsetType = UNSET
    agent_type: str | UnsetType = UNSET
    """The role of the team's leader."""


class TeamCreateResult(Snake):
    """A team that was formed."""

    team_name: str
    team_file_path: str
    lead_agent_id: str | UnsetType = UNSET


class TeamDeleteInput(Snake):
    """The end of the current team; it has no parameters."""


class TeamDeleteResult(Snake):
    """A team that was dissolved, or why it was not."""

    success: bool
    message: str
    team_name: str | UnsetType = UNSET


class ListAgentsInput(Snake):
    """A question for the agents that can be written to; it has no parameters."""


class SubagentHandbackInput(Snake):
    """An agent's report to whoever started it."""

    message: str


class SubagentHandbackResult(Camel):
    """Whether the report was delivered."""

    success: bool
    message: str
