"""Small JSON files that lie beside transcripts: what an agent was started with, and what became of a workflow.

Versions add fields, and a folder holds files of every version that it ever saw, so hardly anything is required.
"""

from __future__ import annotations

from typing import ClassVar

from turnlog.messages.base import UNSET, Camel, Number, Open, OpenEnum, Raw, UnknownBlock, UnsetType
from turnlog.messages.envelope import PermissionMode


class RequestShape(OpenEnum):
    """Whether whoever started an agent waits for it."""

    BACKGROUND = "background"
    FOREGROUND = "foreground"


class AgentTaskKind(OpenEnum):
    """What sort of agent it is, where it is no common one."""

    IN_PROCESS_TEAMMATE = "in_process_teammate"


class AgentMeta(Camel):
    """What an agent was started with (`agent-<id>.meta.json`)."""

    agent_type: str | None | UnsetType = UNSET
    """Of a teammate its name; then the type is `custom_agent_type`."""
    description: str | None | UnsetType = UNSET
    tool_use_id: str | None | UnsetType = UNSET
    """The call that started it; agents of workflows and teammates have none."""
    spawn_depth: int | None | UnsetType = UNSET
    """How many agents deep it is, from 1; of a teammate 0 or 1."""
    parent_agent_id: str | None | UnsetType = UNSET
    request_shape: RequestShape | None | UnsetType = UNSET
    request_non_interactive: bool | None | UnsetType = UNSET
    model: str | None | UnsetType = UNSET
    workflow_phase: str | None | UnsetType = UNSET
    is_fork: bool | None | UnsetType = UNSET
    task_kind: AgentTaskKind | None | UnsetType = UNSET
    team_name: str | None | UnsetType = UNSET
    name: str | None | UnsetType = UNSET
    color: str | None | UnsetType = UNSET
    plan_mode_required: bool | None | UnsetType = UNSET
    permission_mode: PermissionMode | None | UnsetType = UNSET
    worktree_path: str | None | UnsetType = UNSET
    worktree_branch: str | None | UnsetType = UNSET
    spawned_with_worktree: bool | None | UnsetType = UNSET
    custom_agent_type: str | None | UnsetType = UNSET
    is_built_in: bool | None | UnsetType = UNSET
    launched_with_defaults: bool | None | UnsetType = UNSET
    picked_effort_model: str | None | UnsetType = UNSET
    finished: bool | None | UnsetType = UNSET
    stopped_by_user: bool | None | UnsetType = UNSET


class WorkflowPhase(Camel):
    """A stage of a workflow, as its script announces it."""

    title: str | UnsetType = UNSET
    detail: str | None | UnsetType = UNSET
    model: str | None | UnsetType = UNSET


class WorkflowProgressBase(Camel, tag_field="type"):
    """A piece of a workflow's progress, told apart by its type."""

    type: ClassVar[str]


class WorkflowPhaseProgress(WorkflowProgressBase, tag="workflow_phase"):
    """A stage that was reached."""

    index: int | UnsetType = UNSET
    title: str | None | UnsetType = UNSET


class WorkflowAgentProgress(WorkflowProgressBase, tag="workflow_agent"):
    """How far an agent of a workflow came."""

    index: int | UnsetType = UNSET
    label: str | None | UnsetType = UNSET
    phase_index: int | None | UnsetType = UNSET
    phase_title: str | None | UnsetType = UNSET
    agent_id: str | None | UnsetType = UNSET
    agent_type: str | None | UnsetType = UNSET
    model: str | None | UnsetType = UNSET
    state: str | UnsetType = UNSET
    """`start`, `progress`, `done` or `error`."""
    started_at: Number | str | None | UnsetType = UNSET
    queued_at: Number | str | None | UnsetType = UNSET
    attempt: int | None | UnsetType = UNSET
    last_tool_name: str | None | UnsetType = UNSET
    last_tool_summary: str | None | UnsetType = UNSET
    prompt_preview: str | None | UnsetType = UNSET
    last_progress_at: Number | str | None | UnsetType = UNSET
    tokens: int | None | UnsetType = UNSET
    tool_calls: int | None | UnsetType = UNSET
    duration_ms: Number | None | UnsetType = UNSET
    result_preview: str | None | UnsetType = UNSET
    cached: bool | None | UnsetType = UNSET
    isolation: str | None | UnsetType = UNSET
    error: str | None | UnsetType = UNSET


class WorkflowLog(WorkflowProgressBase, tag="workflow_log"):
    """A remark of a workflow's script."""

    message: str | UnsetType = UNSET


WorkflowProgress = Open[WorkflowPhaseProgress | WorkflowAgentProgress | WorkflowLog, UnknownBlock]


class WorkflowRecord(Camel):
    """What became of a workflow (`wf_<run>.json`), written when it ended."""

    run_id: str | UnsetType = UNSET
    timestamp: str | UnsetType = UNSET
    task_id: str | None | UnsetType = UNSET
    """The background task that it was; the call's result and the notice name it, too."""
    script: str | None | UnsetType = UNSET
    script_path: str | None | UnsetType = UNSET
    args: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    agent_count: int | None | UnsetType = UNSET
    logs: tuple[str, ...] | None | UnsetType = UNSET
    duration_ms: Number | None | UnsetType = UNSET
    summary: str | None | UnsetType = UNSET
    workflow_name: str | None | UnsetType = UNSET
    status: str | UnsetType = UNSET
    """`completed`, `failed` or `killed`."""
    start_time: Number | str | None | UnsetType = UNSET
    phases: tuple[WorkflowPhase, ...] | None | UnsetType = UNSET
    default_model: str | None | UnsetType = UNSET
    workflow_progress: tuple[WorkflowProgress, ...] | None | UnsetType = UNSET
    total_tokens: int | None | UnsetType = UNSET
    total_tool_calls: int | None | UnsetType = UNSET
    error: str | None | UnsetType = UNSET
