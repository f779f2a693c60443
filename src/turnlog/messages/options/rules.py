"""What the options of a query may and may not say together.

Each rule is a sentence of the SDK's documentation or of spec 001. What the program takes without a word is no
problem here either.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath, PureWindowsPath

from turnlog.messages.base import UNSET
from turnlog.messages.envelope import PermissionMode
from turnlog.messages.options.callbacks import Callbacks
from turnlog.messages.options.output import JsonSchemaOutputFormat
from turnlog.messages.options.problems import OptionProblem, check_positive
from turnlog.messages.options.problems import OptionProblemKind as Kind
from turnlog.messages.options.query import QueryOptions
from turnlog.messages.options.sandbox import SandboxNetworkConfig, SandboxSettings
from turnlog.messages.options.sessions import ListingSessionStore
from turnlog.messages.options.thinking import TaskBudget, ThinkingEnabled

Rule = Callable[[QueryOptions, Callbacks | None], Iterator[OptionProblem]]
"""Looks at options, and at the callbacks beside them where those are known."""

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_PORTS = range(1, 65536)


def _session(options: QueryOptions, _: Callbacks | None) -> Iterator[OptionProblem]:
    resumes = isinstance(options.resume, str)
    continues = options.continue_ is True
    forks = options.fork_session is True
    if resumes and continues:
        yield OptionProblem(Kind.CONFLICT, "no `continue` beside `resume`", "both", ("continue",))
    if forks and not (resumes or continues):
        yield OptionProblem(Kind.NO_EFFECT, "`resume` or `continue` beside it", "neither", ("forkSession",))
    if isinstance(options.session_id, str):
        if not _UUID.fullmatch(options.session_id):
            yield OptionProblem(Kind.BAD_VALUE, "a UUID", f"`{options.session_id}`", ("sessionId",))
        if (resumes or continues) and not forks:
            yield OptionProblem(
                Kind.CONFLICT, "`forkSession` beside `resume` or `continue`", "no fork", ("sessionId",)
            )
    if options.resume_session_at is not UNSET and not resumes:
        yield OptionProblem(Kind.MISSING, "a session, for `resumeSessionAt`", "nothing", ("resume",))
    if options.resume_drops_turn is not UNSET and options.resume_session_at is UNSET:
        yield OptionProblem(Kind.NO_EFFECT, "`resumeSessionAt` beside it", "nothing", ("resumeDropsTurn",))


def _store(options: QueryOptions, callbacks: Callbacks | None) -> Iterator[OptionProblem]:
    if callbacks is None:
        return
    if callbacks.session_store is None:
        if options.session_store_flush is not UNSET:
            yield OptionProblem(Kind.NO_EFFECT, "a session store", "none", ("sessionStoreFlush",))
        if options.load_timeout_ms is not UNSET:
            yield OptionProblem(Kind.NO_EFFECT, "a session store", "none", ("loadTimeoutMs",))
        return
    if options.persist_session is False:
        yield OptionProblem(
            Kind.CONFLICT, "sessions that are written, for the session store", "false", ("persistSession",)
        )
    if options.enable_file_checkpointing is True:
        yield OptionProblem(
            Kind.CONFLICT, "no checkpoints beside a session store", "true", ("enableFileCheckpointing",)
        )
    if options.continue_ is True and not isinstance(callbacks.session_store, ListingSessionStore):
        yield OptionProblem(
            Kind.CONFLICT, "a session store that lists its sessions", "one that does not", ("continue",)
        )


def _permissions(options: QueryOptions, callbacks: Callbacks | None) -> Iterator[OptionProblem]:
    bypasses = options.permission_mode is PermissionMode.BYPASS_PERMISSIONS
    if bypasses and options.allow_dangerously_skip_permissions is not True:
        yield OptionProblem(
            Kind.MISSING, "true, for `bypassPermissions`", "nothing", ("allowDangerouslySkipPermissions",)
        )
    asks = callbacks is not None and callbacks.can_use_tool is not None
    if asks and options.permission_prompt_tool_name is not UNSET:
        yield OptionProblem(
            Kind.CONFLICT, "no tool that answers beside `canUseTool`", "both", ("permissionPromptToolName",)
        )


def _tools(options: QueryOptions, _: Callbacks | None) -> Iterator[OptionProblem]:
    if isinstance(options.allowed_tools, tuple) and isinstance(options.disallowed_tools, tuple):
        for index, name in enumerate(options.allowed_tools):
            if name in options.disallowed_tools:
                yield OptionProblem(
                    Kind.NO_EFFECT, "a tool that is not disallowed", f"`{name}`", ("allowedTools", index)
                )


def _model(options: QueryOptions, _: Callbacks | None) -> Iterator[OptionProblem]:
    if isinstance(options.fallback_model, str):
        names = [name.strip() for name in options.fallback_model.split(",")]
        if options.model in names:
            yield OptionProblem(
                Kind.CONFLICT, "another model than `model`", f"`{options.model}`", ("fallbackModel",)
            )


def _limits(options: QueryOptions, _: Callbacks | None) -> Iterator[OptionProblem]:
    yield from check_positive(options.max_turns, ("maxTurns",))
    yield from check_positive(options.max_budget_usd, ("maxBudgetUsd",))
    if isinstance(options.task_budget, TaskBudget):
        yield from check_positive(options.task_budget.total, ("taskBudget", "total"))
    if isinstance(options.thinking, ThinkingEnabled):
        yield from check_positive(options.thinking.budget_tokens, ("thinking", "budgetTokens"))
    if isinstance(options.max_thinking_tokens, int):
        if options.max_thinking_tokens < 0:
            yield OptionProblem(
                Kind.BAD_VALUE, "0 or more", f"`{options.max_thinking_tokens}`", ("maxThinkingTokens",)
            )
        if options.thinking is not UNSET:
            yield OptionProblem(
                Kind.NO_EFFECT, "no older limit beside `thinking`", "both", ("maxThinkingTokens",)
            )


def _directories(options: QueryOptions, _: Callbacks | None) -> Iterator[OptionProblem]:
    if isinstance(options.additional_directories, tuple):
        for index, name in enumerate(options.additional_directories):
            # A path's machine need not be this one, so either form will do.
            if not (PurePosixPath(name).is_absolute() or PureWindowsPath(name).is_absolute()):
                yield OptionProblem(
                    Kind.DISCOURAGED, "an absolute path", f"`{name}`", ("additionalDirectories", index)
                )


def _output(options: QueryOptions, _: Callbacks | None) -> Iterator[OptionProblem]:
    if isinstance(options.output_format, JsonSchemaOutputFormat) and options.output_format.schema is UNSET:
        yield OptionProblem(Kind.MISSING, "a JSON Schema", "nothing", ("outputFormat", "schema"))


def _sandbox(options: QueryOptions, _: Callbacks | None) -> Iterator[OptionProblem]:
    if isinstance(options.sandbox, SandboxSettings) and isinstance(
        options.sandbox.network, SandboxNetworkConfig
    ):
        network = options.sandbox.network
        for name, port in (
            ("httpProxyPort", network.http_proxy_port),
            ("socksProxyPort", network.socks_proxy_port),
        ):
            if isinstance(port, int) and port not in _PORTS:
                yield OptionProblem(
                    Kind.BAD_VALUE, "a port from 1 to 65535", f"`{port}`", ("sandbox", "network", name)
                )


RULES: tuple[Rule, ...] = (
    _session,
    _store,
    _permissions,
    _tools,
    _model,
    _limits,
    _directories,
    _output,
    _sandbox,
)
"""All rules of this module, in the order in which they speak."""
