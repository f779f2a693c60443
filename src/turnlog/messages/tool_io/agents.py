"""Tools that start other agents, by which agents work together, and that load skills and tools.

Agent was called Task once. A finished agent's `usage` is that of its last response alone; its total is
`total_tokens`.
"""

from __future__ import annotations

from typing import ClassVar

from msgspec import UNSET, Raw, UnsetType, field

from turnlog.messages.base import Camel, Number, Open, OpenEnum, Snake, UnknownBlock
from turnlog.messages.blocks import ContentBlock
from turnlog.messages.message import Usage


class AgentInput(Snake):
    """A task for a sub-agent."""

    description: str | UnsetType = UNSET
    prompt: str | UnsetType = UNSET
    subagent_type: str | UnsetType = UNSET
    model: str | UnsetType = UNSET
    """`sonnet`, `opus`, `haiku` or `fable`."""
    effort: str | UnsetType = UNSET
    """`low`, `medium`, `high`, `xhigh` or `max`."""
    run_in_background: bool | UnsetType = UNSET
    resume: str | UnsetType = UNSET
    """The agent to go on with; later versions use SendMessage."""
    max_turns: int | UnsetType = UNSET
    name: str | UnsetType = UNSET
    team_name: str | UnsetType = UNSET
    mode: str | UnsetType = UNSET
    """`acceptEdits`, `auto`, `bypassPermissions`, `default`, `dontAsk` or `plan`."""
    isolation: str | UnsetType = UNSET
    """`worktree` or `remote`."""


class ToolStats(Camel):
    """How often an agent did what."""

    read_count: int | UnsetType = UNSET
    search_count: int | UnsetType = UNSET
    bash_count: int | UnsetType = UNSET
    edit_file_count: int | UnsetType = UNSET
    lines_added: int | UnsetType = UNSET
    lines_removed: int | UnsetType = UNSET
    other_tool_count: int | UnsetType = UNSET
    frame_count: int | UnsetType = UNSET


class AgentReport(Camel):
    """What a finished agent said and used."""

    content: tuple[ContentBlock, ...]
    total_duration_ms: Number | UnsetType = UNSET
    total_tokens: int | UnsetType = UNSET
    total_tool_use_count: int | UnsetType = UNSET
    usage: Usage | UnsetType = UNSET
    was_interrupted: bool | UnsetType = UNSET


class AgentUntaggedResult(AgentReport):
    """A finished agent as early versions wrote it, without a status."""

    total_tool_use_count: int


class AgentCompletedResult(AgentReport, tag_field="status", tag="completed"):
    """An agent that finished."""

    status: ClassVar[str]
    prompt: str | UnsetType = UNSET
    agent_id: str | UnsetType = UNSET
    agent_type: str | UnsetType = UNSET
    resolved_model: str | UnsetType = UNSET
    models_used: tuple[str, ...] | UnsetType = UNSET
    tools_used: tuple[str, ...] | UnsetType = UNSET
    tool_stats: ToolStats | UnsetType = UNSET
    worktree_path: str | UnsetType = UNSET
    worktree_branch: str | UnsetType = UNSET
    can_continue_agent: bool | UnsetType = UNSET
    harness_note_count: int | UnsetType = UNSET
    harness_tail_count: int | UnsetType = UNSET
    harness_section_hash: str | UnsetType = UNSET


class AgentLaunchedResult(Camel, tag_field="status", tag="async_launched"):
    """An agent that runs in the background."""

    status: ClassVar[str]
    agent_id: str
    is_async: bool | UnsetType = UNSET
    description: str | UnsetType = UNSET
    prompt: str | UnsetType = UNSET
    resolved_model: str | UnsetType = UNSET
    models_used: tuple[str, ...] | UnsetType = UNSET
    output_file: str | UnsetType = UNSET
    can_read_output_file: bool | UnsetType = UNSET
    can_continue_agent: bool | UnsetType = UNSET


class AgentRemoteResult(Camel, tag_field="status", tag="remote_launched"):
    """An agent that runs on another machine."""

    status: ClassVar[str]
    task_id: str
    session_url: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    prompt: str | UnsetType = UNSET
    output_file: str | UnsetType = UNSET


class AgentQueuedResult(Camel, tag_field="status", tag="queued_to_running"):
    """A message that waits for an agent that is still at work."""

    status: ClassVar[str]
    agent_id: str
    prompt: str | UnsetType = UNSET


class AgentEnteredResult(Camel, tag_field="status", tag="sub_agent_entered"):
    """The first line of an agent that shares its caller's context."""

    status: ClassVar[str]
    description: str | UnsetType = UNSET
    message: str | UnsetType = UNSET


class TeammateSpawnedResult(Snake, tag_field="status", tag="teammate_spawned"):
    """An agent that joined a team."""

    status: ClassVar[str]
    teammate_id: str
    agent_id: str | UnsetType = UNSET
    agent_type: str | UnsetType = UNSET
    prompt: str | UnsetType = UNSET
    model: str | UnsetType = UNSET
    name: str | UnsetType = UNSET
    color: str | UnsetType = UNSET
    team_name: str | UnsetType = UNSET
    is_splitpane: bool | UnsetType = UNSET
    plan_mode_required: bool | UnsetType = UNSET
    tmux_pane_id: str | UnsetType = UNSET
    tmux_session_name: str | UnsetType = UNSET
    tmux_window_name: str | UnsetType = UNSET


AgentResult = Open[
    AgentCompletedResult
    | AgentLaunchedResult
    | AgentRemoteResult
    | AgentQueuedResult
    | AgentEnteredResult
    | TeammateSpawnedResult,
    UnknownBlock,
]


class WorkflowInput(Camel):
    """A script that runs many agents, or the name of one that is stored."""

    script: str | UnsetType = UNSET
    name: str | UnsetType = UNSET
    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    args: Raw | UnsetType = UNSET
    script_path: str | UnsetType = UNSET
    resume_from_run_id: str | UnsetType = UNSET


class WorkflowStatus(OpenEnum):
    """Where a workflow runs."""

    ASYNC_LAUNCHED = "async_launched"
    REMOTE_LAUNCHED = "remote_launched"


class WorkflowResult(Camel):
    """A workflow that was started."""

    status: WorkflowStatus
    task_id: str
    task_type: str | UnsetType = UNSET
    """`local_workflow` or `remote_agent`."""
    workflow_name: str | UnsetType = UNSET
    run_id: str | UnsetType = UNSET
    summary: str | UnsetType = UNSET
    transcript_dir: str | UnsetType = UNSET
    script_path: str | UnsetType = UNSET
    session_url: str | UnsetType = UNSET
    warning: str | UnsetType = UNSET
    error: str | UnsetType = UNSET


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


class SkillInput(Snake):
    """A skill to load."""

    skill: str | UnsetType = UNSET
    args: str | UnsetType = UNSET
    command: str | UnsetType = UNSET
    """How early versions spelled `skill`."""


class SlashCommandInput(Snake):
    """A slash command to run; Skill replaced this tool, and its result is a `SkillResult`."""

    command: str


class SkillResult(Camel):
    """A skill that was loaded into the conversation, or ran in an agent of its own."""

    success: bool
    command_name: str
    allowed_tools: tuple[str, ...] | UnsetType = UNSET
    model: str | UnsetType = UNSET
    status: str | UnsetType = UNSET
    """`inline` or `forked`."""
    agent_id: str | UnsetType = UNSET
    result: str | UnsetType = UNSET


class ToolSearchInput(Snake):
    """Words, or `select:` and names, to find tools that are not loaded yet."""

    query: str
    max_results: int | UnsetType = UNSET


class ToolSearchResult(Snake):
    """The names of the tools that were found."""

    matches: tuple[str, ...]
    query: str
    total_deferred_tools: int | UnsetType = UNSET
    pending_mcp_servers: tuple[str, ...] | UnsetType = UNSET


class SkillProposal(Camel):
    """A skill that the agent would write or improve."""

    name: str
    kind: str | UnsetType = UNSET
    """`new` or `improvement`."""
    target: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    evidence: tuple[str, ...] | UnsetType = UNSET
    skill_md: str | UnsetType = UNSET


class ProposeSkillsInput(Snake):
    """Skills to propose to the user."""

    proposals: tuple[SkillProposal, ...]


class ProposeSkillsResult(Camel):
    """How many skills were proposed."""

    proposal_count: int
