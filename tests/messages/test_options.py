from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest

import golden
from turnlog.errors import ChangeError
from turnlog.messages import options as package
from turnlog.messages.base import UNSET, OpenEnum, Raw, Value, encode_value
from turnlog.messages.envelope import PermissionMode
from turnlog.messages.hook_events import (
    ExitReason,
    HookEventName,
    HookInput,
    HookJSONOutput,
    SyncHookJSONOutput,
)
from turnlog.messages.options import (
    TRANSPORT_FIELDS,
    AgentDefinition,
    Callbacks,
    ConfigScope,
    CustomSystemPrompt,
    EffortLevel,
    Executable,
    HookCallbackMatcher,
    JsonSchemaOutputFormat,
    LocalPlugin,
    McpServerConfig,
    McpTransport,
    OptionProblemKind,
    PermissionPrompts,
    PluginDelivery,
    Preset,
    PresetSystemPrompt,
    QueryOptions,
    SandboxNetworkConfig,
    SandboxSettings,
    SdkBeta,
    SessionKey,
    SessionStoreFlush,
    SessionSummaryEntry,
    SettingSource,
    TaskBudget,
    ThinkingAdaptive,
    ThinkingDisabled,
    ThinkingDisplay,
    ThinkingEnabled,
    ToolsPreset,
    UnknownThinking,
    validate,
)
from turnlog.messages.permissions import PermissionAllow, PermissionResult
from turnlog.messages.salvage import ProblemKind, view

GOLDEN: dict[str, type[Value]] = {
    "query": QueryOptions,
    "agents": AgentDefinition,
    "servers": McpServerConfig,
    "sandbox": SandboxSettings,
    "session-keys": SessionKey,
    "session-summaries": SessionSummaryEntry,
}
SAMPLES = [(name, line) for name in GOLDEN for line in golden.lines(f"options/{name}")]
QUERIES = [msgspec.json.decode(line, type=QueryOptions) for line in golden.lines("options/query")]
CALLBACK_NAMES = (
    "abortController",
    "canUseTool",
    "onElicitation",
    "onUserDialog",
    "sessionStore",
    "stderr",
    "spawnClaudeCodeProcess",
)
LATER_FIELDS = [
    "projectConfigRoot",
    "toolAliases",
    "env",
    "executable",
    "executableArgs",
    "extraArgs",
    "toolConfig",
    "supportedDialogKinds",
    "perTaskStopAffordance",
    "sessionStoreFlush",
    "loadTimeoutMs",
    "includeHookEvents",
    "forwardSubagentText",
    "verbatimPrompts",
    "thinking",
    "effort",
    "taskBudget",
    "pathToClaudeCodeExecutable",
    "planModeInstructions",
    "permissionPrompts",
    "pluginDelivery",
    "promptSuggestions",
    "agentProgressSummaries",
    "resumeDropsTurn",
    "settings",
    "managedSettings",
    "skills",
    "title",
]
SESSION = "6b1f2c9e-3a4d-4e5f-8a6b-7c8d9e0f1a2b"


async def allow(name: str, tool_input: Raw) -> PermissionResult:
    return PermissionAllow()


async def on_hook(hook_input: HookInput, tool_use_id: str | None) -> HookJSONOutput:
    return SyncHookJSONOutput()


class Store:
    async def append(self, key: SessionKey, entries: Sequence[Raw]) -> None:
        raise NotImplementedError

    async def load(self, key: SessionKey) -> Sequence[Raw] | None:
        raise NotImplementedError


class ListingStore(Store):
    async def list_sessions(self, project_key: str) -> Sequence[tuple[str, int]]:
        raise NotImplementedError


def spawn(command: tuple[str, ...], cwd: str | None, env: Mapping[str, str]) -> object:
    raise NotImplementedError


def callbacks() -> Callbacks:
    """Return callbacks with all of them set."""
    return Callbacks(
        abort_controller=threading.Event(),
        can_use_tool=allow,
        hooks={"hook_0": on_hook},
        on_elicitation=on_hook,
        on_user_dialog=on_hook,
        mcp_instances={"garden": object()},
        session_store=Store(),
        stderr=print,
        spawn_claude_code_process=spawn,
    )


def problems(options: QueryOptions, beside: Callbacks | None = None) -> list[tuple[str, str]]:
    """Return the kind and the path of all that is wrong."""
    return [(problem.kind.value, problem.path) for problem in validate(options, beside)]


def values_of(enum: type[OpenEnum]) -> list[str]:
    return [member.value for member in enum]


@pytest.mark.parametrize(("name", "line"), SAMPLES, ids=[name for name, _ in SAMPLES])
def test_a_sample_decodes_strictly_and_encodes_to_the_same_json(name: str, line: bytes) -> None:
    value = msgspec.json.decode(line, type=GOLDEN[name])

    assert json.loads(encode_value(value)) == json.loads(line)


def test_the_samples_set_every_declared_field() -> None:
    found = [
        each for name, line in SAMPLES for each in golden.walk(msgspec.json.decode(line, type=GOLDEN[name]))
    ]

    assert golden.fields_declared(package) - golden.fields_set(found) == set()


def test_options_have_all_fields_of_the_specification_and_of_today() -> None:
    declared = set(QueryOptions.__struct_encode_fields__)

    assert len(golden.SPEC_001_OPTIONS) == 34
    assert declared == {*golden.SPEC_001_OPTIONS, *LATER_FIELDS}


def test_an_empty_object_is_options_and_says_nothing() -> None:
    assert encode_value(QueryOptions()) == b"{}"
    assert msgspec.json.decode(b"{}", type=QueryOptions) == QueryOptions()


def test_absent_null_and_false_are_three_things() -> None:
    absent, null, false = (
        msgspec.json.decode(text, type=QueryOptions).persist_session
        for text in (b"{}", b'{"persistSession":null}', b'{"persistSession":false}')
    )

    assert (absent, null, false) == (UNSET, None, False)


@pytest.mark.parametrize(
    ("enum", "expected"),
    [
        (SettingSource, ["user", "project", "local"]),
        (ConfigScope, ["local", "user", "project"]),
        (EffortLevel, ["low", "medium", "high", "xhigh", "max"]),
        (Executable, ["bun", "deno", "node"]),
        (SdkBeta, ["context-1m-2025-08-07"]),
        (SessionStoreFlush, ["batched", "eager"]),
        (PermissionPrompts, ["host", "none"]),
        (PluginDelivery, ["argv", "initialize"]),
        (Preset, ["claude_code"]),
        (McpTransport, ["stdio", "sse", "http", "sdk", "claudeai-proxy"]),
        (ThinkingDisplay, ["summarized", "omitted"]),
    ],
)
def test_an_enum_has_exactly_the_known_words(enum: type[OpenEnum], expected: list[str]) -> None:
    assert values_of(enum) == expected


def test_permission_modes_exit_reasons_and_hook_events_are_complete() -> None:
    modes = {"default", "acceptEdits", "bypassPermissions", "plan", "delegate", "dontAsk"}
    reasons = {"clear", "logout", "prompt_input_exit", "other", "bypass_permissions_disabled"}

    assert set(values_of(PermissionMode)) == modes | {"auto"}
    assert set(values_of(ExitReason)) == reasons | {"resume"}
    assert set(golden.SPEC_001_HOOKS) < set(values_of(HookEventName))


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        ("Be kind.", '"Be kind."'),
        (("One.", "Two."), '["One.","Two."]'),
        (PresetSystemPrompt(preset=Preset.CLAUDE_CODE), '{"type":"preset","preset":"claude_code"}'),
        (
            PresetSystemPrompt(preset=Preset.CLAUDE_CODE, append="Be kind."),
            '{"type":"preset","preset":"claude_code","append":"Be kind."}',
        ),
        (CustomSystemPrompt(prompt="Be kind."), '{"type":"custom","prompt":"Be kind."}'),
    ],
)
def test_a_system_prompt_is_text_or_blocks_or_an_object(prompt: Any, text: str) -> None:
    line = f'{{"systemPrompt":{text}}}'.encode()
    options = QueryOptions(system_prompt=prompt)

    assert json.loads(encode_value(options)) == json.loads(line)
    assert msgspec.json.decode(line, type=QueryOptions) == options


def test_tools_are_names_or_a_preset_and_no_tools_are_not_absent() -> None:
    _, named, preset, _, none, *_ = QUERIES

    assert named.tools == ("Read", "Bash")
    assert preset.tools == ToolsPreset(preset=Preset.CLAUDE_CODE)
    assert none.tools == ()


def test_thinking_is_told_apart_by_its_type() -> None:
    kinds = [type(options.thinking) for options in QUERIES if options.thinking is not UNSET]

    assert kinds == [ThinkingEnabled, ThinkingAdaptive, ThinkingDisabled]


def test_a_server_without_a_type_is_reached_by_stdio() -> None:
    plain, *_, proxy = (
        msgspec.json.decode(line, type=McpServerConfig) for line in golden.lines("options/servers")
    )

    assert (plain.type, plain.transport) == (UNSET, McpTransport.STDIO)
    assert proxy.transport is McpTransport.CLAUDEAI_PROXY
    assert json.loads(encode_value(plain)) == {"command": "docs-server"}


def test_every_transport_names_its_fields() -> None:
    assert set(TRANSPORT_FIELDS) == set(McpTransport)
    assert set().union(*TRANSPORT_FIELDS.values()) == set(McpServerConfig.__struct_fields__) - {"type"}


def test_an_agents_servers_are_names_or_servers_by_name() -> None:
    agent = msgspec.json.decode(golden.lines("options/agents")[0], type=AgentDefinition)

    assert isinstance(agent.mcp_servers, tuple)
    name, own = agent.mcp_servers
    assert name == "weather"
    assert own == {
        "pump": McpServerConfig(command="pump"),
        "tap": McpServerConfig(type=McpTransport.HTTP, url="https://tap.example/mcp"),
    }


def test_an_unknown_word_is_kept_and_named() -> None:
    read = view(QueryOptions, b'{"effort":"extreme","model":"opus"}')

    assert isinstance(read.value, QueryOptions)
    assert (read.value.effort, read.value.model) == ("extreme", "opus")
    assert [(problem.kind, problem.path) for problem in read.problems] == [
        (ProblemKind.UNKNOWN_VALUE, "$.effort")
    ]
    assert json.loads(encode_value(read.value)) == {"effort": "extreme", "model": "opus"}


def test_an_unknown_type_is_kept_as_it_came() -> None:
    read = view(QueryOptions, b'{"thinking":{"type":"deep","levels":[1]},"model":"opus"}')

    assert isinstance(read.value, QueryOptions)
    assert read.value.thinking == UnknownThinking(b'{"type":"deep","levels":[1]}', "deep")
    assert read.value.model == "opus"
    assert problems(read.value) == [("unknown-value", "$.thinking")]


def test_callbacks_leave_no_trace_in_what_is_written() -> None:
    options = QUERIES[1]
    alone = encode_value(options)
    beside = callbacks()

    validate(options, beside)

    assert encode_value(options) == alone
    assert not set(CALLBACK_NAMES) & set(json.loads(alone))
    assert json.loads(alone)["hooks"] == {
        "PreToolUse": [{"matcher": "Bash", "hookCallbackIds": ["hook_0"], "timeout": 30}]
    }


def test_callbacks_cannot_be_written() -> None:
    for beside in (Callbacks(), Callbacks(hooks={}, mcp_instances={}), Callbacks(stderr=print), callbacks()):
        with pytest.raises(ChangeError):
            encode_value(beside)


@pytest.mark.parametrize("name", CALLBACK_NAMES)
def test_a_callback_is_never_read(name: str) -> None:
    line = json.dumps({name: "x", "model": "opus"}).encode()

    with pytest.raises(msgspec.ValidationError, match=f"unknown field `{name}`"):
        msgspec.json.decode(line, type=QueryOptions)
    read = view(QueryOptions, line)
    assert read.value == QueryOptions(model="opus")
    assert [problem.kind for problem in read.problems] == [ProblemKind.UNKNOWN_FIELD]


def test_a_function_in_a_matcher_is_never_read() -> None:
    read = view(QueryOptions, b'{"hooks":{"Stop":[{"hooks":["f"],"hookCallbackIds":["hook_1"]}]}}')

    assert read.value == QueryOptions(hooks={"Stop": (HookCallbackMatcher(hook_callback_ids=("hook_1",)),)})


def test_a_function_in_options_is_refused() -> None:
    misused: Any = allow

    with pytest.raises(ChangeError):
        validate(QueryOptions(model=misused))


def test_options_without_fault_have_no_problems() -> None:
    sound = QueryOptions(
        model="opus",
        fallback_model="sonnet, haiku",
        max_turns=1,
        max_budget_usd=0.01,
        max_thinking_tokens=0,
        permission_mode=PermissionMode.BYPASS_PERMISSIONS,
        allow_dangerously_skip_permissions=True,
        resume=SESSION,
        resume_session_at=SESSION,
        fork_session=True,
        session_id=SESSION.upper(),
        additional_directories=("/a", "C:\\b"),
        allowed_tools=("Read",),
        disallowed_tools=("Write",),
        plugins=(LocalPlugin(path="./seeds"),),
        output_format=JsonSchemaOutputFormat(schema={"type": Raw(b'"object"')}),
        sandbox=SandboxSettings(network=SandboxNetworkConfig(http_proxy_port=1, socks_proxy_port=65535)),
        agents={"a": AgentDefinition(description="d", prompt="p", mcp_servers=("x",))},
        mcp_servers={"garden": McpServerConfig(type=McpTransport.SDK, name="garden")},
        hooks={HookEventName.STOP: (HookCallbackMatcher(hook_callback_ids=("hook_0",)),)},
    )

    assert validate(sound) == ()
    assert validate(sound, callbacks()) == ()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (QueryOptions(resume=SESSION, continue_=True), ("conflict", "$.continue")),
        (QueryOptions(fork_session=True), ("no-effect", "$.forkSession")),
        (QueryOptions(resume_session_at=SESSION), ("missing", "$.resume")),
        (QueryOptions(resume_drops_turn=SESSION), ("no-effect", "$.resumeDropsTurn")),
        (QueryOptions(session_id="today"), ("bad-value", "$.sessionId")),
        (QueryOptions(session_id=SESSION, resume=SESSION), ("conflict", "$.sessionId")),
        (QueryOptions(session_id=SESSION, continue_=True), ("conflict", "$.sessionId")),
        (
            QueryOptions(permission_mode=PermissionMode.BYPASS_PERMISSIONS),
            ("missing", "$.allowDangerouslySkipPermissions"),
        ),
        (
            QueryOptions(allowed_tools=("Read", "Bash"), disallowed_tools=("Bash",)),
            ("no-effect", "$.allowedTools[1]"),
        ),
        (QueryOptions(model="opus", fallback_model="opus"), ("conflict", "$.fallbackModel")),
        (QueryOptions(model="opus", fallback_model="sonnet, opus"), ("conflict", "$.fallbackModel")),
        (QueryOptions(max_turns=0), ("bad-value", "$.maxTurns")),
        (QueryOptions(max_budget_usd=-0.5), ("bad-value", "$.maxBudgetUsd")),
        (QueryOptions(max_thinking_tokens=-1), ("bad-value", "$.maxThinkingTokens")),
        (QueryOptions(task_budget=TaskBudget(total=0)), ("bad-value", "$.taskBudget.total")),
        (QueryOptions(thinking=ThinkingEnabled(budget_tokens=0)), ("bad-value", "$.thinking.budgetTokens")),
        (
            QueryOptions(thinking=ThinkingAdaptive(), max_thinking_tokens=9),
            ("no-effect", "$.maxThinkingTokens"),
        ),
        (
            QueryOptions(additional_directories=("/a", "shed")),
            ("discouraged", "$.additionalDirectories[1]"),
        ),
        (QueryOptions(output_format=JsonSchemaOutputFormat()), ("missing", "$.outputFormat.schema")),
        (
            QueryOptions(sandbox=SandboxSettings(network=SandboxNetworkConfig(http_proxy_port=0))),
            ("bad-value", "$.sandbox.network.httpProxyPort"),
        ),
        (
            QueryOptions(sandbox=SandboxSettings(network=SandboxNetworkConfig(socks_proxy_port=65536))),
            ("bad-value", "$.sandbox.network.socksProxyPort"),
        ),
        (QueryOptions(agents={"a": AgentDefinition(prompt="p")}), ("missing", "$.agents.a.description")),
        (QueryOptions(agents={"a": AgentDefinition(description="d")}), ("missing", "$.agents.a.prompt")),
        (
            QueryOptions(agents={"a": AgentDefinition(description="d", prompt="p", max_turns=0)}),
            ("bad-value", "$.agents.a.maxTurns"),
        ),
        (
            QueryOptions(
                agents={
                    "a": AgentDefinition(description="d", prompt="p", mcp_servers=({"s": McpServerConfig()},))
                }
            ),
            ("missing", "$.agents.a.mcpServers[0].s.command"),
        ),
        (QueryOptions(setting_sources=(SettingSource.of("team"),)), ("unknown-value", "$.settingSources[0]")),
        (
            QueryOptions(hooks={"Stop": (HookCallbackMatcher(),)}),
            ("missing", "$.hooks.Stop[0].hookCallbackIds"),
        ),
        (QueryOptions(hooks={"Sunrise": ()}), ("unknown-value", "$.hooks.Sunrise")),
    ],
)
def test_what_is_wrong_is_said_once_and_with_its_place(
    options: QueryOptions, expected: tuple[str, str]
) -> None:
    assert problems(options) == [expected]


def test_tools_that_are_only_allowed_or_only_disallowed_are_no_problem() -> None:
    assert problems(QueryOptions(allowed_tools=("Bash",))) == []
    assert problems(QueryOptions(disallowed_tools=("Bash",))) == []


@pytest.mark.parametrize(
    ("server", "expected"),
    [
        (McpServerConfig(), ("missing", "$.mcpServers.github.command")),
        (McpServerConfig(type=McpTransport.STDIO), ("missing", "$.mcpServers.github.command")),
        (McpServerConfig(type=McpTransport.HTTP), ("missing", "$.mcpServers.github.url")),
        (McpServerConfig(type=McpTransport.SSE, url=""), ("missing", "$.mcpServers.github.url")),
        (McpServerConfig(type=McpTransport.SDK), ("missing", "$.mcpServers.github.name")),
        (
            McpServerConfig(type=McpTransport.CLAUDEAI_PROXY, url="u", id="i"),
            ("bad-value", "$.mcpServers.github.type"),
        ),
        (McpServerConfig(command="c", url="u"), ("no-effect", "$.mcpServers.github.url")),
        (
            McpServerConfig(type=McpTransport.SDK, name="n", always_load=True),
            ("no-effect", "$.mcpServers.github.alwaysLoad"),
        ),
        (
            McpServerConfig(type=McpTransport.of("carrier-pigeon")),
            ("unknown-value", "$.mcpServers.github.type"),
        ),
    ],
)
def test_a_server_needs_what_its_transport_needs(server: McpServerConfig, expected: tuple[str, str]) -> None:
    assert problems(QueryOptions(mcp_servers={"github": server})) == [expected]


@pytest.mark.parametrize(
    ("options", "beside", "expected"),
    [
        (
            QueryOptions(permission_prompt_tool_name="mcp__gate__ask"),
            Callbacks(can_use_tool=allow),
            ("conflict", "$.permissionPromptToolName"),
        ),
        (
            QueryOptions(mcp_servers={"garden": McpServerConfig(type=McpTransport.SDK, name="garden")}),
            Callbacks(),
            ("missing", "$.mcpServers.garden.instance"),
        ),
        (
            QueryOptions(hooks={"Stop": (HookCallbackMatcher(hook_callback_ids=("hook_0", "hook_1")),)}),
            Callbacks(hooks={"hook_0": on_hook}),
            ("missing", "$.hooks.Stop[0].hookCallbackIds[1]"),
        ),
        (
            QueryOptions(persist_session=False),
            Callbacks(session_store=Store()),
            ("conflict", "$.persistSession"),
        ),
        (
            QueryOptions(enable_file_checkpointing=True),
            Callbacks(session_store=Store()),
            ("conflict", "$.enableFileCheckpointing"),
        ),
        (QueryOptions(continue_=True), Callbacks(session_store=Store()), ("conflict", "$.continue")),
        (
            QueryOptions(session_store_flush=SessionStoreFlush.EAGER),
            Callbacks(),
            ("no-effect", "$.sessionStoreFlush"),
        ),
        (QueryOptions(load_timeout_ms=9), Callbacks(), ("no-effect", "$.loadTimeoutMs")),
    ],
)
def test_options_are_held_against_the_callbacks_beside_them(
    options: QueryOptions, beside: Callbacks, expected: tuple[str, str]
) -> None:
    assert problems(options, beside) == [expected]
    assert problems(options) == []


def test_the_latest_session_of_a_store_that_lists_them_can_be_continued() -> None:
    assert problems(QueryOptions(continue_=True), Callbacks(session_store=ListingStore())) == []


def test_a_value_of_the_wrong_type_is_a_problem() -> None:
    wrong: Any = "3"

    [problem] = validate(QueryOptions(max_turns=wrong))

    assert problem.kind is OptionProblemKind.WRONG_TYPE
    assert str(problem) == "Expected an integer or null, found a string - at $.maxTurns"


def test_a_part_that_cannot_be_read_is_missing_something() -> None:
    read = view(QueryOptions, b'{"plugins":[{"type":"local"}]}')

    assert [(problem.kind, problem.path) for problem in read.problems] == [
        (ProblemKind.MISSING_FIELD, "$.plugins[0]")
    ]
    assert isinstance(read.value, QueryOptions)
    assert problems(read.value) == [("missing", "$.plugins[0]")]


def test_only_what_may_well_work_is_a_warning() -> None:
    warnings = {OptionProblemKind.UNKNOWN_VALUE, OptionProblemKind.NO_EFFECT, OptionProblemKind.DISCOURAGED}
    found = {
        problem.kind: problem.is_warning
        for options in (
            QueryOptions(fork_session=True, max_turns=0, additional_directories=("a",), resume_session_at="x"),
            QueryOptions(continue_=True, resume="x", effort=EffortLevel.of("extreme")),
        )
        for problem in validate(options)
    }

    assert {kind for kind, is_warning in found.items() if is_warning} == warnings
    assert not found[OptionProblemKind.CONFLICT]
