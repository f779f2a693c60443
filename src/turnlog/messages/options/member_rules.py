"""What each server, agent and hook of a query needs."""

from __future__ import annotations

from collections.abc import Iterator

from turnlog.messages.base import UNSET
from turnlog.messages.hook_events import HookEventName
from turnlog.messages.options.agents import AgentDefinition
from turnlog.messages.options.callbacks import Callbacks
from turnlog.messages.options.hooks import HookCallbackMatcher
from turnlog.messages.options.mcp import TRANSPORT_FIELDS, McpServerConfig, McpTransport
from turnlog.messages.options.problems import OptionProblem, check_positive
from turnlog.messages.options.problems import OptionProblemKind as Kind
from turnlog.messages.options.query import QueryOptions
from turnlog.messages.spans import Path

_WIRE_NAMES = dict(
    zip(McpServerConfig.__struct_fields__, McpServerConfig.__struct_encode_fields__, strict=True)
)


def check_servers(options: QueryOptions, callbacks: Callbacks | None) -> Iterator[OptionProblem]:
    """Yield what is wrong with the MCP servers."""
    if not isinstance(options.mcp_servers, dict):
        return
    for name, server in options.mcp_servers.items():
        steps: Path = ("mcpServers", name)
        yield from _server(server, steps)
        runs_here = server.transport is McpTransport.SDK
        if runs_here and callbacks is not None and name not in callbacks.mcp_instances:
            yield OptionProblem(Kind.MISSING, "the server itself", "nothing", (*steps, "instance"))


def _server(server: McpServerConfig, steps: Path) -> Iterator[OptionProblem]:
    if server.transport is McpTransport.CLAUDEAI_PROXY:
        found = f"`{server.transport}`, which only a status tells of"
        yield OptionProblem(Kind.BAD_VALUE, "a transport that can be chosen", found, (*steps, "type"))
        return
    if not server.transport.known:
        return
    fields = TRANSPORT_FIELDS[server.transport]
    for name, wire in _WIRE_NAMES.items():
        value = getattr(server, name)
        if fields.get(name) and not value:
            expected = f"a {wire} for a server of type `{server.transport}`"
            yield OptionProblem(Kind.MISSING, expected, "nothing", (*steps, wire))
        elif name != "type" and name not in fields and value is not UNSET:
            expected = f"a field of a server of type `{server.transport}`"
            yield OptionProblem(Kind.NO_EFFECT, expected, f"`{wire}`", (*steps, wire))


def check_agents(options: QueryOptions, _: Callbacks | None) -> Iterator[OptionProblem]:
    """Yield what is wrong with the agents."""
    if isinstance(options.agents, dict):
        for name, agent in options.agents.items():
            yield from _agent(agent, ("agents", name))


def _agent(agent: AgentDefinition, steps: Path) -> Iterator[OptionProblem]:
    if not agent.description:
        yield OptionProblem(Kind.MISSING, "when to use the agent", "nothing", (*steps, "description"))
    if not agent.prompt:
        yield OptionProblem(Kind.MISSING, "the agent's prompt", "nothing", (*steps, "prompt"))
    yield from check_positive(agent.max_turns, (*steps, "maxTurns"))
    if isinstance(agent.mcp_servers, tuple):
        for index, spec in enumerate(agent.mcp_servers):
            if isinstance(spec, dict):
                for name, server in spec.items():
                    yield from _server(server, (*steps, "mcpServers", index, name))


def check_hooks(options: QueryOptions, callbacks: Callbacks | None) -> Iterator[OptionProblem]:
    """Yield what is wrong with the hooks."""
    if not isinstance(options.hooks, dict):
        return
    for event, matchers in options.hooks.items():
        if not HookEventName.of(event).known:
            yield OptionProblem(Kind.UNKNOWN_VALUE, "a known hook event", f"`{event}`", ("hooks", event))
        for index, matcher in enumerate(matchers):
            yield from _matcher(matcher, callbacks, ("hooks", event, index, "hookCallbackIds"))


def _matcher(matcher: HookCallbackMatcher, callbacks: Callbacks | None, steps: Path) -> Iterator[OptionProblem]:
    if not isinstance(matcher.hook_callback_ids, tuple):
        yield OptionProblem(Kind.MISSING, "the ids of callbacks", "nothing", steps)
    elif callbacks is not None:
        for index, name in enumerate(matcher.hook_callback_ids):
            if name not in callbacks.hooks:
                yield OptionProblem(Kind.MISSING, f"a callback for `{name}`", "nothing", (*steps, index))
