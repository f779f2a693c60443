"""Spec 001, §3 to §5: messages of the stream."""

from __future__ import annotations

from typing import Any

from validation_cases.base import Case, without

_ID = "00000000-0000-4000-8000-{:012}"


def say(type_: str, number: int = 1, **more: Any) -> dict[str, Any]:
    """Return a message of the stream."""
    return {"type": type_, "uuid": _ID.format(number), "session_id": "s-1", **more}


def note(subtype: str, number: int = 1, **more: Any) -> dict[str, Any]:
    """Return a system message."""
    return say("system", number, subtype=subtype, **more)


USAGE = {
    "input_tokens": 1,
    "output_tokens": 2,
    "cache_read_input_tokens": 3,
    "cache_creation_input_tokens": 4,
}
MESSAGE: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "content": [{"type": "text", "text": "tea"}],
    "model": "claude-opus-4-1",
    "stop_reason": None,
    "stop_sequence": None,
    "usage": USAGE,
}
MODEL = {
    "inputTokens": 1,
    "outputTokens": 2,
    "cacheReadInputTokens": 3,
    "cacheCreationInputTokens": 4,
    "webSearchRequests": 0,
    "costUSD": 0.1,
    "contextWindow": 200000,
    "maxOutputTokens": 32000,
}
INIT = note(
    "init",
    apiKeySource="none",
    claude_code_version="2.1.7",
    cwd="/tea",
    tools=["Read"],
    mcp_servers=[{"name": "pot", "status": "connected"}],
    model="claude-opus-4-1",
    permissionMode="default",
    slash_commands=["compact"],
    output_style="default",
    skills=[],
    plugins=[{"name": "leaf", "path": "/leaf"}],
)
RESULT = say(
    "result",
    8,
    subtype="success",
    duration_ms=10,
    duration_api_ms=5,
    is_error=False,
    num_turns=1,
    stop_reason="end_turn",
    total_cost_usd=0.1,
    usage=USAGE,
    modelUsage={"claude-opus-4-1": MODEL},
    permission_denials=[{"tool_name": "Bash", "tool_use_id": "t-1", "tool_input": {}}],
    result="tea",
)
FAILURE = without({**RESULT, "subtype": "error_max_turns", "is_error": True, "errors": ["no tea"]}, "result")


def answer(number: int = 2, **more: Any) -> dict[str, Any]:
    """Return an answer; `more` is about its message."""
    return say("assistant", number, parent_tool_use_id=None, message={**MESSAGE, **more})


def prompt(number: int = 3, **more: Any) -> dict[str, Any]:
    """Return a prompt."""
    return say(
        "user", number, **{"parent_tool_use_id": None, "message": {"role": "user", "content": "tea"}, **more}
    )


def event(**more: Any) -> dict[str, Any]:
    """Return an event of an answer in the making."""
    return say("stream_event", 4, **{"parent_tool_use_id": None, "event": {"type": "message_stop"}, **more})


_HOOK = {"hook_id": "h-1", "hook_name": "PreToolUse:Read", "hook_event": "PreToolUse"}
_OUTPUT = {"stdout": "", "stderr": "", "output": ""}
STARTED = note("hook_started", 5, **_HOOK)
PROGRESS = note("hook_progress", 6, **_HOOK, **_OUTPUT)
RESPONSE = note("hook_response", 7, **_HOOK, **_OUTPUT, outcome="success")
BOUNDARY = note("compact_boundary", compact_metadata={"trigger": "auto", "pre_tokens": 9})
TOOL = say(
    "tool_progress", tool_use_id="t-1", tool_name="Read", parent_tool_use_id=None, elapsed_time_seconds=1.5
)
AUTH = say("auth_status", isAuthenticating=False, output=[])
TASK = note("task_notification", task_id="k-1", status="completed", output_file="/tea", summary="done")
FILES = note(
    "files_persisted",
    files=[{"filename": "a", "file_id": "f-1"}],
    failed=[{"filename": "b", "error": "too large"}],
    processed_at="2025-02-03T09:00:00Z",
)
SUMMARY = say("tool_use_summary", summary="read", preceding_tool_use_ids=["t-1"])
_PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": ""}}

CASES = [
    Case(
        "001-3-known-type",
        [say("omen"), note("omen", 2), say("omen")],
        [
            "1 warning 001-3-known-type: Expected a known `type`, found `omen` - at $.type",
            "2 warning 001-3-known-type: Expected a known `subtype`, found `omen` - at $.subtype",
            "3 warning 001-3-known-type: Expected a known `type`, found `omen` - at $.type",
        ],
        [INIT, answer(), prompt(), event(), RESULT],
    ),
    Case(
        "001-4.1-result-subtype",
        [INIT, {**RESULT, "subtype": "error_omen"}],
        ["2 warning 001-4.1-result-subtype: Expected a known `subtype`, found `error_omen` - at $.subtype"],
        [INIT, RESULT, FAILURE],
    ),
    Case(
        "001-4.2-base-fields",
        [without(STARTED, "uuid", "session_id"), RESPONSE, without(prompt(), "session_id")],
        [
            "1 warning 001-4.2-base-fields: Expected `uuid` and `session_id` in a message, found nothing",
            "3 warning 001-4.2-base-fields: Expected `session_id` in a message, found nothing",
        ],
        [STARTED, RESPONSE, without(prompt(), "uuid")],
    ),
    Case(
        "001-4.2-uuid-form",
        [{**prompt(), "uuid": "p-1"}],
        ["1 note 001-4.2-uuid-form: Expected a UUID, found `p-1` - at $.uuid"],
        [prompt()],
    ),
    Case(
        "001-4.3-assistant",
        [
            INIT,
            without(answer(), "parent_tool_use_id"),
            without(answer(3), "message"),
            {**answer(4), "parent_tool_use_id": 5},
            {**answer(5), "message": 5},
            {**answer(6), "context_usage": {"model": 5}},
        ],
        [
            "2 error 001-4.3-assistant: Expected `parent_tool_use_id` in an assistant message, found nothing",
            "3 error 001-4.3-assistant: Expected field `message`, found nothing",
            "4 error 001-4.3-assistant: Expected a string or null, found `5` - at $.parent_tool_use_id",
            "5 error 001-4.3-assistant: Expected an object (Message), found `5` - at $.message",
            "6 error 001-4.3-assistant: Expected a string, found `5` - at $.context_usage.model",
        ],
        [INIT, answer(), {**answer(3), "parent_tool_use_id": "t-1"}],
    ),
    Case(
        "001-4.4-message-fields",
        [
            INIT,
            {**answer(), "message": without(MESSAGE, "id", "usage", "stop_reason")},
            answer(3, type="omen", role="user", content="tea"),
            answer(4, model=5),
            {**answer(5), "message": without(MESSAGE, "type")},
            answer(6, usage={**USAGE, "input_tokens": "many"}),
        ],
        [
            "2 warning 001-4.4-message-fields: Expected `id`, `stop_reason` and `usage` in an answer, "
            "found nothing "
            "- at $.message",
            "3 warning 001-4.4-message-fields: Expected `message`, found `omen` - at $.message.type",
            "3 warning 001-4.4-message-fields: Expected `assistant`, found `user` - at $.message.role",
            "3 warning 001-4.4-message-fields: Expected an array of blocks, found a string "
            "- at $.message.content",
            "4 warning 001-4.4-message-fields: Expected a string or null, found `5` - at $.message.model",
            "5 warning 001-4.4-message-fields: Expected `type` in an answer, found nothing - at $.message",
            "6 warning 001-4.4-message-fields: Expected an integer or null, found a string "
            "- at $.message.usage.input_tokens",
        ],
        [INIT, answer()],
    ),
    Case(
        "001-4.4-usage",
        [
            INIT,
            answer(usage={**without(USAGE, "output_tokens"), "input_tokens": None}),
            {**RESULT, "usage": without(USAGE, "cache_read_input_tokens")},
        ],
        [
            "2 warning 001-4.4-usage: Expected a number in `input_tokens` and `output_tokens`, found none "
            "- at $.message.usage",
            "3 warning 001-4.4-usage: Expected a number in `cache_read_input_tokens`, found none - at $.usage",
        ],
        [INIT, answer(), RESULT],
    ),
    Case(
        "001-4.4-block-fields",
        [
            INIT,
            answer(
                content=[
                    {"type": "thinking"},
                    {"type": "text", "text": 5},
                    {"type": "tool_use", "name": "Read"},
                ]
            ),
        ],
        [
            "2 error 001-4.4-block-fields: Expected field `thinking`, found nothing - at $.message.content[0]",
            "2 error 001-4.4-block-fields: Expected a string, found `5` - at $.message.content[1].text",
            "2 error 001-4.4-block-fields: Expected `id` and `input` in a `tool_use`, found nothing "
            "- at $.message.content[2]",
        ],
        [INIT, answer(content=[{"type": "tool_use", "id": "t-1", "name": "Read", "input": {}}])],
    ),
    Case(
        "001-4.4-block-order",
        [INIT, answer(content=[{"type": "text", "text": "tea"}, {"type": "thinking", "thinking": "green"}])],
        [
            "2 note 001-4.4-block-order: Expected thinking, then text, then tool uses, found another order "
            "- at $.message.content[1]"
        ],
        [INIT, answer(content=[{"type": "thinking", "thinking": "green"}, {"type": "text", "text": "tea"}])],
    ),
    Case(
        "001-4.5-stream-event",
        [
            INIT,
            without(event(), "parent_tool_use_id"),
            without(event(), "event"),
            event(event={"type": "content_block_stop"}),
        ],
        [
            "2 error 001-4.5-stream-event: Expected `parent_tool_use_id` in a stream event, found nothing",
            "3 error 001-4.5-stream-event: Expected field `event`, found nothing",
            "4 error 001-4.5-stream-event: Expected field `index`, found nothing - at $.event",
        ],
        [INIT, event(), event(event={"type": "content_block_stop", "index": 0})],
    ),
    Case(
        "001-4.6-user",
        [
            without(prompt(), "parent_tool_use_id"),
            prompt(message={"role": "butler"}),
            prompt(message={"role": "user", "content": None}),
            prompt(message={"role": "user", "content": 5}),
            prompt(message={"content": "tea"}),
        ],
        [
            "1 error 001-4.6-user: Expected `parent_tool_use_id` in a user message, found nothing",
            "2 error 001-4.6-user: Expected `content` in a message, found nothing - at $.message",
            "2 error 001-4.6-user: Expected `user` or `assistant`, found `butler` - at $.message.role",
            "3 error 001-4.6-user: Expected a string or an array, found null - at $.message.content",
            "4 error 001-4.6-user: Expected a string or an array or null, found `5` - at $.message.content",
            "5 error 001-4.6-user: Expected `role` in a message, found nothing - at $.message",
        ],
        [prompt(), prompt(isReplay=True)],
    ),
    Case(
        "001-4.7-result-fields",
        [
            INIT,
            without(RESULT, "num_turns", "modelUsage", "permission_denials"),
            {**RESULT, "duration_ms": "long"},
            without(RESULT, "is_error"),
        ],
        [
            "2 warning 001-4.7-result-fields: Expected `num_turns`, `modelUsage` and `permission_denials` "
            "in a result, found nothing",
            "3 warning 001-4.7-result-fields: Expected an integer or a number, found a string "
            "- at $.duration_ms",
            "4 warning 001-4.7-result-fields: Expected `is_error` in a result, found nothing",
        ],
        [INIT, RESULT],
    ),
    Case(
        "001-4.7-result-success",
        [INIT, without(RESULT, "result"), {**RESULT, "errors": []}],
        [
            "2 error 001-4.7-result-success: Expected `result` in a success, found nothing",
            "3 error 001-4.7-result-success: Expected no `errors` in a success, found some",
        ],
        [INIT, RESULT],
    ),
    Case(
        "001-4.7-result-error",
        [INIT, without(FAILURE, "errors"), {**FAILURE, "result": "tea", "structured_output": 1}],
        [
            "2 error 001-4.7-result-error: Expected `errors` in an error, found nothing",
            "3 error 001-4.7-result-error: Expected no `result` and `structured_output` in an error, "
            "found some",
        ],
        [INIT, FAILURE],
    ),
    Case(
        "001-4.7-is-error",
        [INIT, {**RESULT, "is_error": True}, {**FAILURE, "is_error": False}],
        [
            "2 note 001-4.7-is-error: Expected `false` for `success`, found `true` - at $.is_error",
            "3 note 001-4.7-is-error: Expected `true` for `error_max_turns`, found `false` - at $.is_error",
        ],
        [INIT, RESULT, FAILURE],
    ),
    Case(
        "001-4.7-model-usage",
        [INIT, {**RESULT, "modelUsage": {"claude-opus-4-1": without(MODEL, "costUSD", "contextWindow")}}],
        [
            "2 warning 001-4.7-model-usage: Expected `costUSD` and `contextWindow` in a model's usage, "
            "found nothing "
            "- at $.modelUsage.claude-opus-4-1"
        ],
        [INIT, RESULT],
    ),
    Case(
        "001-4.7-permission-denials",
        [INIT, {**RESULT, "permission_denials": [{"tool_name": "Bash"}]}],
        [
            "2 error 001-4.7-permission-denials: Expected `tool_use_id` and `tool_input` in a denial, "
            "found nothing "
            "- at $.permission_denials[0]"
        ],
        [INIT, RESULT],
    ),
    Case(
        "001-4.8-init-fields",
        [
            without(INIT, "model", "permissionMode", "skills"),
            {**INIT, "tools": "Read"},
            without(INIT, "mcp_servers", "plugins"),
        ],
        [
            "1 warning 001-4.8-init-fields: Expected `model`, `permissionMode` and `skills` in an init "
            "message, found nothing",
            "2 warning 001-4.8-init-fields: Expected an array, found a string - at $.tools",
            "3 warning 001-4.8-init-fields: Expected `mcp_servers` and `plugins` in an init message, "
            "found nothing",
        ],
        [INIT],
    ),
    Case(
        "001-4.8-init-first",
        [answer(), answer(3), INIT],
        [
            "1 note 001-4.8-init-first: Expected an init message, found none before the first answer "
            "of session `s-1`"
        ],
        [prompt(), STARTED, RESPONSE, INIT, answer()],
    ),
    Case(
        "001-4.8-mcp-servers",
        [{**INIT, "mcp_servers": [{"status": "brewing"}, {"name": "pot"}]}],
        [
            "1 warning 001-4.8-mcp-servers: Expected `name` in a server, found nothing - at $.mcp_servers[0]",
            "1 warning 001-4.8-mcp-servers: Expected `connected`, `failed`, `needs-auth`, `pending` or "
            "`disabled`, "
            "found `brewing` - at $.mcp_servers[0].status",
            "1 warning 001-4.8-mcp-servers: Expected `status` in a server, found nothing - at $.mcp_servers[1]",
        ],
        [INIT],
    ),
    Case(
        "001-4.8-plugins",
        [{**INIT, "plugins": [{"name": "leaf"}]}],
        ["1 warning 001-4.8-plugins: Expected `path` in a plugin, found nothing - at $.plugins[0]"],
        [INIT],
    ),
    Case(
        "001-4.9-status",
        [note("status"), note("status", 2, status=5)],
        [
            "1 error 001-4.9-status: Expected `status` in a status message, found nothing",
            "2 error 001-4.9-status: Expected a string or null, found `5` - at $.status",
        ],
        [note("status", status=None), note("status", 2, status="compacting")],
    ),
    Case(
        "001-4.10-compact-boundary",
        [without(BOUNDARY, "compact_metadata"), {**BOUNDARY, "compact_metadata": {}}],
        [
            "1 error 001-4.10-compact-boundary: Expected `compact_metadata` in a compact_boundary, "
            "found nothing",
            "2 error 001-4.10-compact-boundary: Expected `trigger` and `pre_tokens` in a compaction, "
            "found nothing "
            "- at $.compact_metadata",
        ],
        [BOUNDARY],
    ),
    Case(
        "001-4.11-hook-fields",
        [
            without(STARTED, "hook_event"),
            without(PROGRESS, "output"),
            without(RESPONSE, "outcome"),
            without(RESPONSE, "hook_id"),
        ],
        [
            "1 warning 001-4.11-hook-fields: Expected `hook_event` in a hook_started, found nothing",
            "2 warning 001-4.11-hook-fields: Expected `output` in a hook_progress, found nothing",
            "3 warning 001-4.11-hook-fields: Expected `outcome` in a hook_response, found nothing",
            "4 warning 001-4.11-hook-fields: Expected `hook_id` in a hook_response, found nothing",
        ],
        [STARTED, PROGRESS, RESPONSE],
    ),
    Case(
        "001-4.11-hook-lifecycle",
        [PROGRESS, STARTED],
        [
            "1 note 001-4.11-hook-lifecycle: Expected an earlier hook_started for `h-1`, found none",
            "2 note 001-4.11-hook-lifecycle: Expected a hook_response for `h-1`, found none",
        ],
        [STARTED, PROGRESS, RESPONSE],
    ),
    Case(
        "001-4.12-tool-progress",
        [without(TOOL, "tool_name", "parent_tool_use_id"), without(TOOL, "tool_use_id")],
        [
            "1 error 001-4.12-tool-progress: Expected `tool_name` and `parent_tool_use_id` in a tool_progress, "
            "found nothing",
            "2 error 001-4.12-tool-progress: Expected field `tool_use_id`, found nothing",
        ],
        [TOOL],
    ),
    Case(
        "001-4.13-auth-status",
        [without(AUTH, "isAuthenticating", "output")],
        [
            "1 error 001-4.13-auth-status: Expected `isAuthenticating` and `output` in an auth_status, "
            "found nothing"
        ],
        [AUTH],
    ),
    Case(
        "001-4.14-task-notification",
        [without(TASK, "status", "output_file", "summary"), without(TASK, "task_id")],
        [
            "1 error 001-4.14-task-notification: Expected `status`, `output_file` and `summary` "
            "in a task_notification, found nothing",
            "2 error 001-4.14-task-notification: Expected field `task_id`, found nothing",
        ],
        [TASK],
    ),
    Case(
        "001-4.15-files-persisted",
        [
            {**FILES, "files": [{}], "failed": [{"filename": "b"}], "processed_at": "soon"},
            without(FILES, "failed"),
            without(FILES, "processed_at"),
        ],
        [
            "1 error 001-4.15-files-persisted: Expected `filename` and `file_id` in a file, found nothing "
            "- at $.files[0]",
            "1 error 001-4.15-files-persisted: Expected `error` in a failed file, found nothing "
            "- at $.failed[0]",
            "1 error 001-4.15-files-persisted: Expected a time in ISO 8601, found `soon` - at $.processed_at",
            "2 error 001-4.15-files-persisted: Expected `failed` in a files_persisted, found nothing",
            "3 error 001-4.15-files-persisted: Expected `processed_at` in a files_persisted, found nothing",
        ],
        [FILES],
    ),
    Case(
        "001-4.16-tool-use-summary",
        [without(SUMMARY, "preceding_tool_use_ids"), without(SUMMARY, "summary")],
        [
            "1 error 001-4.16-tool-use-summary: Expected `preceding_tool_use_ids` in a tool_use_summary, "
            "found nothing",
            "2 error 001-4.16-tool-use-summary: Expected field `summary`, found nothing",
        ],
        [SUMMARY],
    ),
    Case(
        "004-7-image-encoding",
        [prompt(message={"role": "user", "content": [_PICTURE]})],
        [
            "1 warning 004-7-image-encoding: Expected base64, found nothing "
            "- at $.message.content[0].source.data"
        ],
    ),
    Case(
        "001-5.1-system-subtype",
        [say("system")],
        ["1 error 001-5.1-system-subtype: Expected a known `subtype`, found nothing"],
        [note("status", status=None)],
    ),
    Case(
        "001-5.2-block-surplus",
        [INIT, answer(content=[{"type": "text", "text": "tea", "name": "", "omen": 1}])],
        [
            "2 note line-unknown-field: Expected a field of TextBlock, found `omen` "
            "- at $.message.content[0].omen",
            "2 warning 001-5.2-block-surplus: Expected a field of TextBlock, found `name` "
            "- at $.message.content[0].name",
        ],
        [INIT, answer()],
    ),
]
