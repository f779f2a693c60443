"""Spec 001, §4.9 to §4.16: states, compactions, hooks, tools, tasks and files."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType

from msgspec import Struct

from turnlog.messages import UNSET
from turnlog.messages.envelope import instant
from turnlog.messages.sdk import (
    AuthStatusMessage,
    CompactBoundaryMessage,
    FilesPersistedEvent,
    HookProgressMessage,
    HookResponseMessage,
    HookStartedMessage,
    StatusMessage,
    TaskNotificationMessage,
    ToolProgressMessage,
    ToolUseSummaryMessage,
)
from turnlog.messages.sdk.system_messages import CompactDetails
from turnlog.messages.spans import Path
from turnlog.transcripts.validation.findings import Report, Spot, quote
from turnlog.transcripts.validation.rules import Severity
from turnlog.transcripts.validation.spec_001 import Check, Demand, check_given, declare_stream

_STATUS = declare_stream(
    "4.9-status",
    "§4.9",
    Severity.ERROR,
    "A status message has a status, which may be null",
    "Null means that Claude Code is no longer busy; a missing status means nothing.",
)
_COMPACTION = declare_stream(
    "4.10-compact-boundary",
    "§4.10",
    Severity.ERROR,
    "A compact_boundary says what triggered it, and how many tokens there were before",
    "What came before it was summarized.",
)
_HOOK_FIELDS = declare_stream(
    "4.11-hook-fields",
    "§4.11",
    Severity.WARNING,
    "A hook message names the hook and its event; progress also has its output, and a response its outcome",
    "The id links the messages of one run. Early versions have none.",
)
HOOK_LIFECYCLE = declare_stream(
    "4.11-hook-lifecycle",
    "§4.11",
    Severity.NOTE,
    "A hook starts before it reports progress or responds, and responds in the end",
    "A capture may start late or end early.",
)
_TOOL_PROGRESS = declare_stream(
    "4.12-tool-progress",
    "§4.12",
    Severity.ERROR,
    "A tool_progress names the call and its tool, the call it is under, and the time elapsed",
    "Otherwise nobody knows what is still running.",
)
_AUTH_STATUS = declare_stream(
    "4.13-auth-status",
    "§4.13",
    Severity.ERROR,
    "An auth_status says whether a login is in progress, and what it printed",
    "It has no other content.",
)
_TASK = declare_stream(
    "4.14-task-notification",
    "§4.14",
    Severity.ERROR,
    "A task_notification names the task, how it ended, where its output is, and a summary",
    "It is the only notice that a background task has ended.",
)
_FILES = declare_stream(
    "4.15-files-persisted",
    "§4.15",
    Severity.ERROR,
    "A files_persisted lists the files by name and id, the failed ones by name and error, and says when",
    "Otherwise nobody knows which files are safe.",
)
_SUMMARY = declare_stream(
    "4.16-tool-use-summary",
    "§4.16",
    Severity.ERROR,
    "A tool_use_summary has a summary, and the calls that it summarizes",
    "It is shown in their place.",
)

NOTICE_RULES = (
    _STATUS,
    _COMPACTION,
    _HOOK_FIELDS,
    HOOK_LIFECYCLE,
    _TOOL_PROGRESS,
    _AUTH_STATUS,
    _TASK,
    _FILES,
    _SUMMARY,
)

_HOOK = ("hook_id", "hook_name", "hook_event")
_OUTPUT = ("stdout", "stderr", "output")
_PROGRESS = ("tool_use_id", "tool_name", "parent_tool_use_id", "elapsed_time_seconds")
NOTICE_DEMANDS: Mapping[type[Struct], Demand] = MappingProxyType(
    {
        StatusMessage: Demand(_STATUS, "a status message", ("status",)),
        CompactBoundaryMessage: Demand(_COMPACTION, "a compact_boundary", ("compact_metadata",)),
        HookStartedMessage: Demand(_HOOK_FIELDS, "a hook_started", _HOOK),
        HookProgressMessage: Demand(_HOOK_FIELDS, "a hook_progress", (*_HOOK, *_OUTPUT)),
        HookResponseMessage: Demand(_HOOK_FIELDS, "a hook_response", (*_HOOK, *_OUTPUT, "outcome")),
        ToolProgressMessage: Demand(_TOOL_PROGRESS, "a tool_progress", _PROGRESS),
        AuthStatusMessage: Demand(_AUTH_STATUS, "an auth_status", ("is_authenticating", "output")),
        TaskNotificationMessage: Demand(
            _TASK, "a task_notification", ("task_id", "status", "output_file", "summary")
        ),
        FilesPersistedEvent: Demand(_FILES, "a files_persisted", ("files", "failed", "processed_at")),
        ToolUseSummaryMessage: Demand(_SUMMARY, "a tool_use_summary", ("summary", "preceding_tool_use_ids")),
    }
)
_DETAILS = Demand(_COMPACTION, "a compaction", ("trigger", "pre_tokens"))
_FILE = Demand(_FILES, "a file", ("filename", "file_id"))
_FAILURE = Demand(_FILES, "a failed file", ("filename", "error"))


def _check_boundary(
    message: CompactBoundaryMessage, faults: Collection[Path], spot: Spot, report: Report
) -> None:
    if isinstance(message.compact_metadata, CompactDetails):
        check_given(_DETAILS, message.compact_metadata, ("compact_metadata",), faults, spot, report)


def _check_files(message: FilesPersistedEvent, faults: Collection[Path], spot: Spot, report: Report) -> None:
    for name, demand in (("files", _FILE), ("failed", _FAILURE)):
        for index, file in enumerate(getattr(message, name) or ()):
            check_given(demand, file, (name, index), faults, spot, report)
    time = message.processed_at
    if time is not UNSET and instant(time) is None:
        report.add(_FILES, spot, f"Expected a time in ISO 8601, found {quote(time)}", ("processed_at",))


NOTICE_CHECKS: Mapping[type[Struct], Check] = MappingProxyType(
    {CompactBoundaryMessage: _check_boundary, FilesPersistedEvent: _check_files}
)
