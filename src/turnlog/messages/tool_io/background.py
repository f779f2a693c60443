"""Tools that look after what runs in the background.

BashOutput and KillShell spoke of shells only. TaskOutput and TaskStop replaced them, and speak of every kind
of background task; AgentOutputTool was a stage in between, for agents.
"""

from __future__ import annotations

from turnlog.messages.base import UNSET, Camel, Number, OpenEnum, Snake, UnsetType, field


class BashOutputInput(Snake):
    """A background shell to read from."""

    bash_id: str
    filter: str | UnsetType = UNSET
    """A regular expression that the lines must match."""
    block: bool | UnsetType = UNSET
    wait_up_to: Number | UnsetType = UNSET


class BashOutputResult(Camel):
    """What a background shell printed since it was last read."""

    shell_id: str
    command: str | UnsetType = UNSET
    status: str | UnsetType = UNSET
    """`running`, `completed`, `failed` or `killed`."""
    exit_code: int | None | UnsetType = UNSET
    stdout: str | UnsetType = UNSET
    stderr: str | UnsetType = UNSET
    stdout_lines: int | UnsetType = UNSET
    stderr_lines: int | UnsetType = UNSET
    timestamp: str | UnsetType = UNSET
    filter_pattern: str | UnsetType = UNSET


class KillShellInput(Snake):
    """A background shell to end."""

    shell_id: str


class KillShellResult(Snake):
    """A background shell that was ended."""

    shell_id: str
    message: str | UnsetType = UNSET
    success: bool | UnsetType = UNSET


class AgentOutputInput(Snake):
    """A background agent to read from."""

    agent_id: str = field(name="agentId")
    block: bool | UnsetType = UNSET
    wait_up_to: Number | UnsetType = UNSET
    """Seconds."""


class TaskOutputInput(Snake):
    """A background task to read from, or to wait for."""

    task_id: str
    block: bool | UnsetType = UNSET
    timeout: Number | UnsetType = UNSET
    """Milliseconds."""


class RetrievalStatus(OpenEnum):
    """Whether a background task's output is all there."""

    SUCCESS = "success"
    TIMEOUT = "timeout"
    NOT_READY = "not_ready"


class BackgroundTask(Snake):
    """A background task and what it gave so far."""

    task_id: str
    task_type: str | UnsetType = UNSET
    """`local_bash`, `local_agent`, `remote_agent` and the like."""
    status: str | UnsetType = UNSET
    """`pending`, `running`, `completed`, `failed` or `killed`."""
    description: str | UnsetType = UNSET
    output: str | UnsetType = UNSET
    exit_code: int | None | UnsetType = field(name="exitCode", default=UNSET)
    error: str | UnsetType = UNSET
    prompt: str | UnsetType = UNSET
    result: str | UnsetType = UNSET
    is_raw_transcript: bool | UnsetType = field(name="isRawTranscript", default=UNSET)


class TaskOutputResult(Snake):
    """A background task's state; `task` is null when nothing could be read."""

    retrieval_status: RetrievalStatus
    task: BackgroundTask | None | UnsetType = UNSET


class TaskStopInput(Snake):
    """A background task to end."""

    task_id: str | UnsetType = UNSET
    shell_id: str | UnsetType = UNSET
    """The older name, still accepted."""


class TaskStopResult(Snake):
    """A background task that was ended."""

    message: str
    task_id: str
    task_type: str | UnsetType = UNSET
    command: str | UnsetType = UNSET


class WebSocketSource(Snake):
    """A WebSocket whose messages are events."""

    url: str
    protocols: tuple[str, ...] | UnsetType = UNSET


class MonitorInput(Snake):
    """Something to watch: each line that the command prints is an event."""

    description: str | UnsetType = UNSET
    command: str | UnsetType = UNSET
    ws: WebSocketSource | UnsetType = UNSET
    timeout_ms: Number | UnsetType = UNSET
    persistent: bool | UnsetType = UNSET


class MonitorResult(Camel):
    """A watch that was started."""

    task_id: str
    timeout_ms: Number
    persistent: bool | UnsetType = UNSET
