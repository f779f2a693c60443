"""Which types belong to which tool, and looking at a tool's input or result through them, on demand.

`INPUTS` and `RESULTS` go by the tool's name; older names are listed too. A result has a tuple of shapes, since
not every tool tags them. Any tool may answer with plain text instead, when it fails or is refused: the table
does not repeat that, text is accepted for every tool.

Where no tag tells the shapes of one tool apart, each is tried: the first that fits without a problem is the
one, else the one with the fewest problems. Without a known tool, a result's shape decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType, field

from turnlog.messages.base import Snake, Unknown, UnknownBlock, UnknownNamed, Value
from turnlog.messages.blocks import ToolUseBlock
from turnlog.messages.salvage import (
    REFUSALS,
    Problem,
    ProblemKind,
    View,
    decoder,
    describe,
    repair_text,
    split_object,
    view,
)
from turnlog.messages.tool_io import agents, files, planning, services, shell
from turnlog.messages.tool_io import services as artifacts
from turnlog.messages.tool_io import services as mcp
from turnlog.messages.tool_io.services import McpInput, McpObject


class UnknownToolInput(UnknownNamed):
    """The input of a tool that nobody declared, or one that its tool's type cannot hold."""


class UnknownToolResult(UnknownNamed):
    """A result that fits no declared tool."""


class UnparsedText(Snake):
    """The beginning of what the model wrote, and how long all of it was."""

    raw: str
    length: int | UnsetType = field(name="len", default=UNSET)


class UnparsedInput(Snake):
    """What any tool's input becomes when the model did not write JSON."""

    content: UnparsedText | str = field(name="__unparsedToolInput")

    @property
    def text(self) -> str:
        """The model's text, as far as it was kept."""
        return self.content if isinstance(self.content, str) else self.content.raw


INPUTS: Mapping[str, type[object]] = {
    "Read": files.ReadInput,
    "NotebookRead": files.NotebookReadInput,
    "Write": files.WriteInput,
    "Edit": files.EditInput,
    "MultiEdit": files.MultiEditInput,
    "NotebookEdit": files.NotebookEditInput,
    "Glob": files.GlobInput,
    "Grep": files.GrepInput,
    "LS": files.LSInput,
    "LSP": files.LSPInput,
    "Bash": shell.BashInput,
    "PowerShell": shell.PowerShellInput,
    "BashOutput": shell.BashOutputInput,
    "KillShell": shell.KillShellInput,
    "KillBash": shell.KillShellInput,
    "AgentOutputTool": shell.AgentOutputInput,
    "TaskOutput": shell.TaskOutputInput,
    "TaskStop": shell.TaskStopInput,
    "Monitor": shell.MonitorInput,
    "Agent": agents.AgentInput,
    "Task": agents.AgentInput,
    "Workflow": agents.WorkflowInput,
    "SendMessage": agents.SendMessageInput,
    "TeamCreate": agents.TeamCreateInput,
    "TeamDelete": agents.TeamDeleteInput,
    "ListAgents": agents.ListAgentsInput,
    "SubagentHandback": agents.SubagentHandbackInput,
    "TodoWrite": planning.TodoWriteInput,
    "TodoRead": planning.TodoReadInput,
    "TaskCreate": planning.TaskCreateInput,
    "TaskGet": planning.TaskGetInput,
    "TaskUpdate": planning.TaskUpdateInput,
    "TaskList": planning.TaskListInput,
    "WebFetch": services.WebFetchInput,
    "WebSearch": services.WebSearchInput,
    "AskUserQuestion": planning.AskUserQuestionInput,
    "EnterPlanMode": planning.EnterPlanModeInput,
    "ExitPlanMode": planning.ExitPlanModeInput,
    "exit_plan_mode": planning.ExitPlanModeInput,
    "ProposeGoal": planning.ProposeGoalInput,
    "EnterWorktree": planning.EnterWorktreeInput,
    "ExitWorktree": planning.ExitWorktreeInput,
    "Skill": agents.SkillInput,
    "SlashCommand": agents.SlashCommandInput,
    "ToolSearch": agents.ToolSearchInput,
    "propose_skills": agents.ProposeSkillsInput,
    "ListMcpResourcesTool": mcp.ListMcpResourcesInput,
    "ListMcpResources": mcp.ListMcpResourcesInput,
    "ReadMcpResourceTool": mcp.ReadMcpResourceInput,
    "ReadMcpResource": mcp.ReadMcpResourceInput,
    "ReadMcpResourceDirTool": mcp.ReadMcpResourceDirInput,
    "ReadMcpResourceDir": mcp.ReadMcpResourceDirInput,
    "RefreshMcpTools": mcp.RefreshMcpToolsInput,
    "WaitForMcpServers": mcp.WaitForMcpServersInput,
    "CronCreate": planning.CronCreateInput,
    "CronDelete": planning.CronDeleteInput,
    "CronList": planning.CronListInput,
    "ScheduleWakeup": planning.ScheduleWakeupInput,
    "RemoteTrigger": planning.RemoteTriggerInput,
    "SendUserMessage": planning.SendUserMessageInput,
    "SendUserFile": planning.SendUserFileInput,
    "PushNotification": planning.PushNotificationInput,
    "ReadNotifications": planning.ReadNotificationsInput,
    "Artifact": artifacts.ArtifactInput,
    "Projects": services.ProjectsInput,
    "ClaudeDesign": services.ClaudeDesignInput,
    "ReportFindings": services.ReportFindingsInput,
    "SendFeedback": services.SendFeedbackInput,
    "ShareOnboardingGuide": services.ShareOnboardingGuideInput,
    "ShowOnboardingRolePicker": services.ShowOnboardingRolePickerInput,
    "OfferChromeSetup": services.OfferChromeSetupInput,
    "EndConversation": services.EndConversationInput,
    "Config": services.ConfigInput,
    "StructuredOutput": services.StructuredOutputInput,
}
"""The type of a tool's input, by the tool's name."""

_AGENT = (agents.AgentResult, agents.AgentUntaggedResult)
_TASK_OUTPUT = (shell.TaskOutputResult, shell.BashOutputResult)
_TASK_STOP = (shell.TaskStopResult, shell.KillShellResult)
_ARTIFACT = (
    artifacts.ArtifactPublishResult,
    artifacts.ArtifactListResult,
    artifacts.ArtifactReadResult,
    artifacts.ArtifactWatchResult,
    artifacts.ArtifactUnwatchResult,
    artifacts.ArtifactWatchesResult,
    artifacts.ArtifactPinResult,
    artifacts.AssetUploadResult,
    artifacts.AssetUploadsResult,
    artifacts.AssetListResult,
    artifacts.AssetReadResult,
    artifacts.AssetDeleteResult,
)

RESULTS: Mapping[str, tuple[object, ...]] = {
    "Read": (files.ReadResult,),
    "NotebookRead": (files.ReadResult,),
    "Write": (files.WriteResult,),
    "Edit": (files.EditResult,),
    "MultiEdit": (files.MultiEditResult,),
    "NotebookEdit": (files.NotebookEditResult,),
    "Glob": (files.GlobResult,),
    "Grep": (files.GrepResult,),
    "LS": (str,),
    "LSP": (files.LSPResult,),
    "Bash": (shell.BashResult,),
    "PowerShell": (shell.BashResult,),
    "BashOutput": _TASK_OUTPUT,
    "AgentOutputTool": _TASK_OUTPUT,
    "TaskOutput": _TASK_OUTPUT,
    "KillShell": _TASK_STOP,
    "KillBash": _TASK_STOP,
    "TaskStop": _TASK_STOP,
    "Monitor": (shell.MonitorResult,),
    "Agent": _AGENT,
    "Task": _AGENT,
    "Workflow": (agents.WorkflowResult,),
    "SendMessage": (agents.SendMessageResult,),
    "TeamCreate": (agents.TeamCreateResult,),
    "TeamDelete": (agents.TeamDeleteResult,),
    "SubagentHandback": (agents.SubagentHandbackResult,),
    "TodoWrite": (planning.TodoWriteResult,),
    "TaskCreate": (planning.TaskCreateResult,),
    "TaskGet": (planning.TaskGetResult,),
    "TaskUpdate": (planning.TaskUpdateResult,),
    "TaskList": (planning.TaskListResult,),
    "WebFetch": (services.WebFetchResult,),
    "WebSearch": (services.WebSearchResult,),
    "AskUserQuestion": (planning.AskUserQuestionResult,),
    "EnterPlanMode": (planning.EnterPlanModeResult,),
    "ExitPlanMode": (planning.ExitPlanModeResult,),
    "exit_plan_mode": (planning.ExitPlanModeResult,),
    "ProposeGoal": (planning.ProposeGoalResult,),
    "ExitWorktree": (planning.ExitWorktreeResult,),
    "EnterWorktree": (planning.EnterWorktreeResult,),
    "Skill": (agents.SkillResult,),
    "SlashCommand": (agents.SkillResult,),
    "ToolSearch": (agents.ToolSearchResult,),
    "propose_skills": (agents.ProposeSkillsResult,),
    "ListMcpResourcesTool": (mcp.ListMcpResourcesResult,),
    "ListMcpResources": (mcp.ListMcpResourcesResult,),
    "ReadMcpResourceTool": (mcp.ReadMcpResourceResult,),
    "ReadMcpResource": (mcp.ReadMcpResourceResult,),
    "ReadMcpResourceDirTool": (mcp.ReadMcpResourceDirResult,),
    "ReadMcpResourceDir": (mcp.ReadMcpResourceDirResult,),
    "RefreshMcpTools": (mcp.RefreshMcpToolsResult,),
    "CronCreate": (planning.CronCreateResult,),
    "CronDelete": (planning.CronDeleteResult,),
    "CronList": (planning.CronListResult,),
    "ScheduleWakeup": (planning.ScheduleWakeupResult,),
    "RemoteTrigger": (planning.RemoteTriggerResult,),
    "SendUserMessage": (planning.SendUserMessageResult,),
    "SendUserFile": (planning.SendUserFileResult,),
    "PushNotification": (planning.PushNotificationResult,),
    "ReadNotifications": (planning.ReadNotificationsResult,),
    "Artifact": _ARTIFACT,
    "Projects": (services.ProjectsResult,),
    "ClaudeDesign": (services.ClaudeDesignResult,),
    "ReportFindings": (services.ReportFindingsResult,),
    "SendFeedback": (services.SendFeedbackResult,),
    "ShowOnboardingRolePicker": (services.ShowOnboardingRolePickerResult,),
    "OfferChromeSetup": (services.OfferChromeSetupResult,),
    "Config": (services.ConfigResult,),
    "StructuredOutput": (str,),
}
"""The shapes of a tool's result, by the tool's name; text is always possible besides."""

MCP_RESULTS: tuple[object, ...] = (mcp.McpContent, mcp.McpItems, McpObject)
"""The shapes of the result of any server's tool, whose name begins with `mcp__`."""


ToolInput = Value | dict[str, Raw]
"""An input: a Struct named after its tool, or an object of any shape."""

ToolResult = Value | str | dict[str, Raw] | tuple[Value | UnknownBlock, ...]
"""A result: a Struct named after its tool, text, content blocks, or an object of any shape."""

_MCP_PREFIX = "mcp__"
_UNPARSED = "__unparsedToolInput"


def view_input(block: ToolUseBlock) -> View[ToolInput]:
    """Look at a call's input as its tool's type; never raises.

    The value is an `UnparsedInput` when the model did not write JSON, and an `UnknownToolInput` when the tool
    is not known or the input lacks what its type cannot do without.
    """
    data = b"" if block.input is UNSET else bytes(block.input)
    unknown = UnknownToolInput(data, block.name)
    if not data:
        return View(unknown, data, (_problem(ProblemKind.MISSING_FIELD, "an input", "nothing", unknown),))
    form = _input_form(block.name, data)
    if form is None:
        found = f"`{block.name}`"
        return View(unknown, data, (_problem(ProblemKind.UNKNOWN_TYPE, "a known tool", found, unknown),))
    seen = view(form, data)
    return View(unknown, data, seen.problems) if _is_lost(seen) else seen


def view_result(tool_name: str | None, raw: Raw | bytes) -> View[ToolResult]:
    """Look at a result as its tool's type; never raises.

    Without a known tool, the value is of that declared type which it fits entirely and which demands the most
    fields; of equals, the first in `RESULTS`. It is an `UnknownToolResult` when none fits.
    """
    data = bytes(raw)
    forms = _result_forms(tool_name)
    if forms is None:
        return _guess(tool_name, data)
    seen = _view_best(forms, data)
    return View(UnknownToolResult(data, tool_name), data, seen.problems) if _is_lost(seen) else seen


def _input_form(name: str, data: bytes) -> object:
    if _UNPARSED.encode() in data and list(split_object(data) or ()) == [_UNPARSED]:
        return UnparsedInput
    return McpInput if name.startswith(_MCP_PREFIX) else INPUTS.get(name)


def _result_forms(name: str | None) -> tuple[object, ...] | None:
    if name is None:
        return None
    return MCP_RESULTS if name.startswith(_MCP_PREFIX) else RESULTS.get(name)


def _problem(kind: ProblemKind, expected: str, found: str, unknown: Unknown) -> Problem:
    return Problem(kind, expected, found, (), unknown, unknown.raw)


def _is_lost(seen: View[Any]) -> bool:
    # An `UnknownBlock` is not lost: its tag says more than the tool's name does.
    return type(seen.value) is Unknown


def _view_best(forms: tuple[object, ...], data: bytes) -> View[Any]:
    for value in _list_fits(forms, data):
        return View(value, data)
    views = [view(_or_text(form), data) for form in forms]
    return min(views, key=lambda seen: (isinstance(seen.value, Unknown), len(seen.problems)))


def _guess(tool_name: str | None, data: bytes) -> View[ToolResult]:
    text, problems = repair_text(data)
    best = max(_list_fits(_guessable(), text), key=_count_demands, default=None)
    if isinstance(best, str | tuple) or _count_demands(best):
        return View(best, data, tuple(problems))
    unknown = UnknownToolResult(data, tool_name)
    problem = _problem(ProblemKind.UNKNOWN_TYPE, "a known tool's result", describe(data), unknown)
    return View(unknown, data, (*problems, problem))


@cache
def _guessable() -> tuple[object, ...]:
    """Return every declared shape once, in order; an object of any shape would fit everything."""
    forms = [form for forms in (*RESULTS.values(), MCP_RESULTS) for form in forms]
    return tuple(form for form in dict.fromkeys(forms) if form != McpObject)


def _list_fits(forms: Iterable[object], data: bytes) -> Iterator[Any]:
    """Yield `data` as each of the forms that it fits entirely."""
    for form in forms:
        try:
            yield decoder(_or_text(form)).decode(data)
        except REFUSALS:
            continue


@cache
def _or_text(form: Any) -> Any:
    return form | str


def _count_demands(value: object) -> int:
    """Count what a value's type demands; of several values the first speaks for all."""
    sample = value[0] if isinstance(value, tuple) and value else value
    return _demands(type(sample)) if isinstance(sample, Value) else 0


@cache
def _demands(cls: type[Value]) -> int:
    tagged = cls.__struct_config__.tag is not None
    return tagged + sum(info.required for info in msgspec.structs.fields(cls))
