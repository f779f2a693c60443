"""Spec 001, §4.7 and §4.8: the end of a turn, and what a session runs with."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType

from msgspec import Struct

from turnlog.messages import UNSET
from turnlog.messages.sdk import ResultMessage, ResultSubtype, SystemInitMessage
from turnlog.messages.spans import Path
from turnlog.transcripts.validation.findings import Report, Spot, join, quote
from turnlog.transcripts.validation.rules import Severity
from turnlog.transcripts.validation.spec_001 import Check, Demand, check_given, declare_stream
from turnlog.transcripts.validation.stream_conversation import check_usage

RESULT_SUBTYPE = declare_stream(
    "4.1-result-subtype",
    "§4.1",
    Severity.WARNING,
    "A result's subtype is one of the five",
    "It says whether the turn succeeded.",
)
_RESULT_FIELDS = declare_stream(
    "4.7-result-fields",
    "§4.7",
    Severity.WARNING,
    "A result has its times, turns, cost, usage, stop reason and denials",
    "They summarize the turn. Early versions have no stop reason.",
)
_SUCCESS = declare_stream(
    "4.7-result-success",
    "§4.7",
    Severity.ERROR,
    "A successful result has `result`, and no `errors`",
    "It is the answer that the caller is waiting for.",
)
_ERROR = declare_stream(
    "4.7-result-error",
    "§4.7",
    Severity.ERROR,
    "An error result has `errors`, and neither `result` nor `structured_output`",
    "They say what went wrong.",
)
_IS_ERROR = declare_stream(
    "4.7-is-error",
    "§4.7",
    Severity.NOTE,
    "`is_error` is true for errors, and false for success",
    "Claude Code reports an API error as a success with `is_error: true`, so both have to be checked.",
)
_MODEL_USAGE = declare_stream(
    "4.7-model-usage",
    "§4.7",
    Severity.WARNING,
    "The usage of a model has all its counters, its cost and its limits",
    "It is Claude Code's own record of what was spent.",
)
_DENIALS = declare_stream(
    "4.7-permission-denials",
    "§4.7",
    Severity.ERROR,
    "A denial names the tool, the call and its input",
    "Otherwise nobody knows what was denied.",
)
_INIT_FIELDS = declare_stream(
    "4.8-init-fields",
    "§4.8",
    Severity.WARNING,
    "An init message says what the session runs with: version, model, directory, mode, tools, servers and more",
    "Versions without skills or plugins leave those out.",
)
INIT_FIRST = declare_stream(
    "4.8-init-first",
    "§4.8",
    Severity.NOTE,
    "A session starts with an init message",
    "A capture that starts later does not show how the session was set up.",
)
_SERVERS = declare_stream(
    "4.8-mcp-servers",
    "§4.8",
    Severity.WARNING,
    "A server has a name and one of five states",
    "Otherwise nobody knows which servers are connected.",
)
_PLUGINS = declare_stream(
    "4.8-plugins",
    "§4.8",
    Severity.WARNING,
    "A plugin has a name and a path",
    "Otherwise nobody knows which plugins are loaded.",
)

SESSION_RULES = (
    RESULT_SUBTYPE,
    _RESULT_FIELDS,
    _SUCCESS,
    _ERROR,
    _IS_ERROR,
    _MODEL_USAGE,
    _DENIALS,
    _INIT_FIELDS,
    INIT_FIRST,
    _SERVERS,
    _PLUGINS,
)

_RESULT = Demand(
    _RESULT_FIELDS,
    "a result",
    (
        "duration_ms",
        "duration_api_ms",
        "is_error",
        "num_turns",
        "stop_reason",
        "total_cost_usd",
        "usage",
        "model_usage",
        "permission_denials",
    ),
)
_INIT = Demand(
    _INIT_FIELDS,
    "an init message",
    (
        "api_key_source",
        "claude_code_version",
        "cwd",
        "tools",
        "mcp_servers",
        "model",
        "permission_mode",
        "slash_commands",
        "output_style",
        "skills",
        "plugins",
    ),
)
SESSION_DEMANDS: Mapping[type[Struct], Demand] = MappingProxyType(
    {ResultMessage: _RESULT, SystemInitMessage: _INIT}
)
_MODEL = Demand(
    _MODEL_USAGE,
    "a model's usage",
    (
        "input_tokens",
        "output_tokens",
        "cache_read_input_tokens",
        "cache_creation_input_tokens",
        "web_search_requests",
        "cost_usd",
        "context_window",
        "max_output_tokens",
    ),
)
_DENIAL = Demand(_DENIALS, "a denial", ("tool_name", "tool_use_id", "tool_input"))
_GOOD = Demand(_SUCCESS, "a success", ("result",))
_BAD = Demand(_ERROR, "an error", ("errors",))
_SERVER = Demand(_SERVERS, "a server", ("name", "status"))
_PLUGIN = Demand(_PLUGINS, "a plugin", ("name", "path"))
_STATES = ("connected", "failed", "needs-auth", "pending", "disabled")


def _check_result(message: ResultMessage, faults: Collection[Path], spot: Spot, report: Report) -> None:
    _check_outcome(message, faults, spot, report)
    check_usage(message.usage, ("usage",), faults, spot, report)
    models = message.model_usage if isinstance(message.model_usage, dict) else {}
    for name, usage in models.items():
        check_given(_MODEL, usage, ("modelUsage", name), faults, spot, report)
    for index, denial in enumerate(message.permission_denials or ()):
        check_given(_DENIAL, denial, ("permission_denials", index), faults, spot, report)


def _check_outcome(message: ResultMessage, faults: Collection[Path], spot: Spot, report: Report) -> None:
    good = message.subtype is ResultSubtype.SUCCESS
    if not message.subtype.known:
        return
    check_given(_GOOD if good else _BAD, message, (), faults, spot, report)
    surplus = ("errors",) if good else ("result", "structured_output")
    found = [name for name in surplus if getattr(message, name) is not UNSET]
    if found:
        rule, what = (_SUCCESS, "a success") if good else (_ERROR, "an error")
        report.add(rule, spot, f"Expected no {join(found)} in {what}, found some")
    if message.is_error is good:
        expected = "false" if good else "true"
        found_word = "true" if good else "false"
        what = quote(message.subtype)
        report.add(_IS_ERROR, spot, f"Expected `{expected}` for {what}, found `{found_word}`", ("is_error",))


def _check_init(message: SystemInitMessage, faults: Collection[Path], spot: Spot, report: Report) -> None:
    for index, server in enumerate(message.mcp_servers or ()):
        steps = ("mcp_servers", index)
        check_given(_SERVER, server, steps, faults, spot, report)
        if server.status is not UNSET and server.status not in _STATES:
            found = f"Expected {join(_STATES, 'or')}, found {quote(server.status)}"
            report.add(_SERVERS, spot, found, (*steps, "status"))
    for index, plugin in enumerate(message.plugins or ()):
        check_given(_PLUGIN, plugin, ("plugins", index), faults, spot, report)


SESSION_CHECKS: Mapping[type[Struct], Check] = MappingProxyType(
    {ResultMessage: _check_result, SystemInitMessage: _check_init}
)
