"""The SDK's options and hooks, and ours: there and back, and what either cannot say."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import re
import threading
from pathlib import Path
from typing import Any

import claude_agent_sdk as official
import msgspec
import pytest
from claude_agent_sdk.types import AsyncHookJSONOutput, SyncHookJSONOutput
from hypothesis import given
from hypothesis import strategies as st

import golden
from sdk_losses import PAGE
from strategies import json_objects, texts
from turnlog.errors import ChangeError, DecodeError
from turnlog.integrations.agent_sdk import (
    Leftover,
    hook_from_sdk,
    hook_input_from_sdk,
    hook_input_to_sdk,
    hook_output_from_sdk,
    hook_output_to_sdk,
    hook_to_sdk,
    options_from_sdk,
    options_to_sdk,
)
from turnlog.messages import ProblemKind, encode
from turnlog.messages import hook_events as hooks
from turnlog.messages.options import (
    AgentDefinition,
    Callbacks,
    CustomSystemPrompt,
    HookCallbackMatcher,
    LocalPlugin,
    McpServerConfig,
    McpTransport,
    PresetSystemPrompt,
    QueryOptions,
    ThinkingEnabled,
    UnknownSystemPrompt,
    validate,
)

OPTIONS = official.ClaudeAgentOptions


async def theirs_hooked(event: Any, tool_use_id: str | None, _: Any) -> Any:
    return {"continue_": False, "stopReason": f"{event['hook_event_name']} {tool_use_id}"}


async def theirs_also_hooked(*_: Any) -> Any:
    return {}


async def theirs_asked(*_: Any) -> official.PermissionResult:
    return official.PermissionResultAllow()


async def ours_hooked(event: hooks.HookInput, tool_use_id: str | None) -> hooks.HookJSONOutput:
    return hooks.SyncHookJSONOutput(continue_=False, stop_reason=f"{type(event).__name__} {tool_use_id}")


AGENT = official.AgentDefinition(
    description="d",
    prompt="p",
    tools=["Read"],
    disallowedTools=["Bash"],
    model="haiku",
    skills=[],
    memory="user",
    mcpServers=["github", {"own": {"command": "x", "args": []}}],
    initialPrompt="go",
    maxTurns=3,
    background=True,
    effort=7,
    permissionMode="plan",
)
MATCHER = official.HookMatcher(
    matcher="Bash|Edit", hooks=[theirs_hooked, theirs_also_hooked], timeout=1.5, on_failure="block"
)
SERVERS: dict[str, Any] = {
    "implied": {"command": "x", "args": ["-v"], "env": {"A": "b"}},
    "stdio": {"type": "stdio", "command": "x"},
    "sse": {"type": "sse", "url": "https://e.org", "headers": {"A": "b"}},
    "http": {"type": "http", "url": "https://e.org", "timeout": 5},
    "inside": {"type": "sdk", "name": "inside", "instance": object()},
}
SANDBOX: dict[str, Any] = {
    "enabled": True,
    "autoAllowBashIfSandboxed": False,
    "excludedCommands": ["git"],
    "allowUnsandboxedCommands": False,
    "network": {"allowedDomains": ["e.org"], "allowLocalBinding": True, "httpProxyPort": 8080},
    "ignoreViolations": {"*": ["/etc/hosts"]},
    "enableWeakerNestedSandbox": True,
}
VALUES: dict[str, list[Any]] = {
    "tools": [["Bash"], [], {"type": "preset", "preset": "claude_code"}],
    "allowed_tools": [["Read", "Bash(git *)"]],
    "system_prompt": [
        "Be brief.",
        {"type": "preset", "preset": "claude_code"},
        {
            "type": "preset",
            "preset": "claude_code",
            "append": "x",
            "exclude_dynamic_sections": True,
            "snapshot": False,
        },
        {"type": "custom", "prompt": "x", "snapshot": True},
        {"type": "file", "path": "/prompt.md"},
    ],
    "mcp_servers": [SERVERS, "/servers.json", Path("/servers.json"), '{"mcpServers":{}}'],
    "strict_mcp_config": [True],
    "permission_mode": ["default", "acceptEdits", "plan", "bypassPermissions", "dontAsk", "auto"],
    "continue_conversation": [True],
    "resume": ["s"],
    "session_id": ["s"],
    "max_turns": [0, 3],
    "max_budget_usd": [2, 0.25],
    "disallowed_tools": [["Bash"]],
    "model": ["opus"],
    "fallback_model": ["sonnet,haiku"],
    "betas": [["context-1m-2025-08-07"], ["a-newer-one"]],
    "permission_prompt_tool_name": ["mcp__a__b"],
    "cwd": ["/desk"],
    "cli_path": ["/bin/claude"],
    "settings": ["/settings.json", '{"a": 1}'],
    "add_dirs": [["/a", "/b"]],
    "env": [{"A": "b"}],
    "extra_args": [{"flag": None, "key": "value"}],
    "max_buffer_size": [1],
    "debug_stderr": [None, object()],
    "stderr": [print],
    "can_use_tool": [theirs_asked],
    "hooks": [
        {},
        {"Stop": []},
        {
            "PreToolUse": [MATCHER, official.HookMatcher()],
            "Stop": [official.HookMatcher(hooks=[theirs_hooked])],
        },
    ],
    "user": ["me"],
    "include_partial_messages": [True],
    "include_hook_events": [True],
    "forward_subagent_text": [True],
    "verbatim_prompts": [True],
    "fork_session": [True],
    "resume_session_at": ["u"],
    "resume_drops_turn": ["u"],
    "agents": [{}, {"full": AGENT, "bare": official.AgentDefinition(description="d", prompt="p")}],
    "setting_sources": [[], ["user", "project", "local"]],
    "skills": [[], ["pdf"], "all"],
    "sandbox": [{}, SANDBOX],
    "plugins": [[{"type": "local", "path": "/p"}]],
    "max_thinking_tokens": [0, 5],
    "thinking": [
        {"type": "adaptive", "display": "omitted"},
        {"type": "enabled", "budget_tokens": 9, "display": "summarized"},
        {"type": "disabled"},
    ],
    "effort": ["low", "xhigh"],
    "output_format": [{"type": "json_schema", "schema": {"type": "object", "x": [1, 2.0]}}, {"type": "newer"}],
    "enable_file_checkpointing": [True],
    "session_store": [official.InMemorySessionStore()],
    "session_store_flush": ["eager"],
    "load_timeout_ms": [5],
    "task_budget": [{"total": 100}],
    "client_app": ["app/1.0"],
}
CASES = [(name, value) for name, values in VALUES.items() for value in values]


def default(each: dataclasses.Field[Any]) -> Any:
    return each.default if each.default_factory is dataclasses.MISSING else each.default_factory()


def there_and_back(theirs: OPTIONS) -> OPTIONS:
    return options_to_sdk(*options_from_sdk(theirs))


def table(head: str) -> list[list[str]]:
    """Return the names in each row of the page's table that begins with `head`."""
    rows = PAGE.read_text().split(f"| {head} |")[1].split("\n\n")[0].splitlines()[2:]
    return [re.findall(r"`(\w+)`", row) for row in rows]


@pytest.mark.parametrize(("name", "value"), CASES, ids=[name for name, _ in CASES])
def test_an_option_comes_back_the_same(name: str, value: Any) -> None:
    theirs = OPTIONS(**{name: value})
    assert there_and_back(theirs) == theirs
    assert theirs != OPTIONS()


def test_every_option_of_the_sdk_has_an_example() -> None:
    assert [each.name for each in dataclasses.fields(OPTIONS)] == list(VALUES)


@pytest.mark.parametrize("example", [AGENT, MATCHER], ids=["agent", "matcher"])
def test_every_field_within_the_options_is_set_by_an_example(example: Any) -> None:
    unset = [each.name for each in dataclasses.fields(example) if getattr(example, each.name) == default(each)]
    assert unset == []


def test_all_options_together_come_back_the_same() -> None:
    theirs = OPTIONS(**{name: values[-1] for name, values in VALUES.items()})
    assert there_and_back(theirs) == theirs


def test_what_the_sdk_assumes_anyway_is_absent() -> None:
    options, callbacks, leftover = options_from_sdk(OPTIONS())
    assert options == QueryOptions()
    assert leftover == Leftover()
    assert callbacks == Callbacks()


def test_options_get_our_types() -> None:
    theirs = OPTIONS(**{name: values[-1] for name, values in VALUES.items()})
    theirs = dataclasses.replace(theirs, mcp_servers=SERVERS, system_prompt=VALUES["system_prompt"][2])
    theirs = dataclasses.replace(theirs, thinking=VALUES["thinking"][1])
    options, callbacks, _ = options_from_sdk(theirs)
    assert isinstance(options.system_prompt, PresetSystemPrompt)
    assert options.system_prompt.exclude_dynamic_sections is True
    assert isinstance(options.thinking, ThinkingEnabled)
    assert options.thinking.budget_tokens == 9
    assert isinstance(options.mcp_servers, dict)
    assert options.mcp_servers["inside"] == McpServerConfig(type=McpTransport.SDK, name="inside")
    assert callbacks.mcp_instances == {"inside": SERVERS["inside"]["instance"]}
    assert options.path_to_claude_code_executable == "/bin/claude"
    assert options.additional_directories == ("/a", "/b")
    assert options.continue_ is True


def test_hooks_get_the_ids_that_the_sdk_would_give_them() -> None:
    options, callbacks, _ = options_from_sdk(OPTIONS(hooks=VALUES["hooks"][2]))
    assert isinstance(options.hooks, dict)
    assert [each.hook_callback_ids for each in options.hooks["PreToolUse"]] == [("hook_0", "hook_1"), ()]
    assert [each.hook_callback_ids for each in options.hooks["Stop"]] == [("hook_2",)]
    assert list(callbacks.hooks) == ["hook_0", "hook_1", "hook_2"]
    assert [problem for problem in validate(options, callbacks) if not problem.is_warning] == []


def test_paths_come_back_as_their_text() -> None:
    theirs = OPTIONS(cwd=Path("/desk"), cli_path=Path("/bin/claude"), add_dirs=[Path("/a"), "/b"])
    assert there_and_back(theirs) == OPTIONS(cwd="/desk", cli_path="/bin/claude", add_dirs=["/a", "/b"])


def test_a_prompt_in_a_file_stays_visible() -> None:
    options, _, _ = options_from_sdk(OPTIONS(system_prompt={"type": "file", "path": "/p"}))
    assert isinstance(options.system_prompt, UnknownSystemPrompt)
    assert options.system_prompt.type == "file"


@pytest.mark.parametrize(
    ("name", "value", "match"),
    [
        ("mcp_servers", {"a": {"command": "x", "newer": 1}}, r"mcpServers\.a\.newer"),
        ("sandbox", {"newer": 1}, r"sandbox\.newer"),
        ("output_format", {"type": "json_schema", "schema": {}, "strict": True}, r"outputFormat\.strict"),
        ("agents", {"a": official.AgentDefinition(description="d", prompt=3)}, r"agents\.a\.prompt"),  # type: ignore[arg-type]
        ("model", 3, r"\$\.model"),
        ("model", "\ud800", "surrogate"),
        ("task_budget", {}, "total"),
    ],
)
def test_what_our_types_cannot_hold_is_refused(name: str, value: Any, match: str) -> None:
    with pytest.raises(DecodeError, match=match):
        options_from_sdk(OPTIONS(**{name: value}))


@pytest.mark.parametrize("value", [float("inf"), object()])
def test_what_has_no_json_form_is_refused(value: Any) -> None:
    with pytest.raises(ChangeError, match="cannot be written as JSON"):
        options_from_sdk(OPTIONS(max_budget_usd=value))


def test_an_option_of_a_newer_sdk_is_refused_once_it_is_set() -> None:
    newer = dataclasses.make_dataclass("Newer", [("newer", int, 0)], bases=(OPTIONS,))
    assert options_from_sdk(newer()).options == QueryOptions()
    with pytest.raises(ChangeError, match="`newer` is not known"):
        options_from_sdk(newer(newer=1))


def test_settings_of_ours_become_text() -> None:
    options = msgspec.json.decode(b'{"settings":{"a":[1]}}', type=QueryOptions)
    assert options_to_sdk(options).settings == '{"a": [1]}'


@pytest.mark.parametrize(
    ("options", "callbacks", "leftover", "match"),
    [
        (QueryOptions(system_prompt=("a", "b")), None, None, "one text"),
        (QueryOptions(system_prompt=CustomSystemPrompt(prompt=("a", "b"))), None, None, "one text"),
        (QueryOptions(agents={"a": AgentDefinition(prompt="p")}), None, None, "agent `a` needs description"),
        (
            QueryOptions(hooks={"Stop": (HookCallbackMatcher(hook_callback_ids=("x",)),)}),
            None,
            None,
            "no function for the hooks x",
        ),
        (QueryOptions(), Callbacks(hooks={"x": ours_hooked}), None, "no matcher names the hooks x"),
        (
            QueryOptions(mcp_servers={"a": McpServerConfig(type=McpTransport.SDK)}),
            None,
            None,
            "no instance for the servers a",
        ),
        (QueryOptions(), Callbacks(mcp_instances={"a": 1}), None, "no options for the servers a"),
        (
            QueryOptions(mcp_servers={"a": McpServerConfig(command="x")}),
            None,
            Leftover(mcp_servers="/x"),
            "not from both",
        ),
        (QueryOptions(env={"A": "b"}), None, None, "no field for `env` of QueryOptions"),
        (
            QueryOptions(),
            Callbacks(abort_controller=threading.Event()),
            None,
            "`abort_controller` of Callbacks",
        ),
    ],
)
def test_what_the_sdk_cannot_take_is_refused(
    options: QueryOptions, callbacks: Callbacks | None, leftover: Leftover | None, match: str
) -> None:
    with pytest.raises(ChangeError, match=match):
        options_to_sdk(options, callbacks, leftover)


def test_the_table_of_what_is_left_over_names_exactly_that() -> None:
    left = {each.name for each in dataclasses.fields(Leftover)}
    found = {
        name
        for name, value in CASES
        if options_from_sdk(OPTIONS(**{name: value})).leftover != Leftover() and name in left
    }
    named = [names[0] for names in table("field of `ClaudeAgentOptions` | why it is left over")]
    assert named == sorted(left) == sorted(found)


def refused(options: QueryOptions, callbacks: Callbacks, owner: str) -> set[str]:
    try:
        options_to_sdk(options, callbacks)
    except ChangeError as error:
        place, _, whose = str(error).rpartition(" of ")
        return set(re.findall(r"`(\w+)`", place)) if whose == owner else set()
    return set()


def python_names(cls: type[msgspec.Struct], wire: set[str]) -> list[str]:
    names = dict(zip(cls.__struct_encode_fields__, cls.__struct_fields__, strict=True))
    return sorted(names[name] for name in wire)


def test_the_table_of_what_the_sdk_has_no_place_for_names_exactly_that() -> None:
    named = {names[0]: names[1:] for names in table("ours | what the SDK has no place for")}
    golden_options = [msgspec.json.decode(line, type=QueryOptions) for line in golden.lines("options/query")]
    wire = {name for each in golden_options for name in refused(each, Callbacks(), "QueryOptions")}
    assert named["QueryOptions"] == python_names(QueryOptions, wire)
    functions = [each.name for each in dataclasses.fields(Callbacks)]
    given_ = {name for name in functions if name not in ("hooks", "mcp_instances")}
    whole = Callbacks(**dict.fromkeys(given_, theirs_asked))  # type: ignore[arg-type]
    assert named["Callbacks"] == sorted(refused(QueryOptions(), whole, "Callbacks"))
    agents = [msgspec.json.decode(line, type=AgentDefinition) for line in golden.lines("options/agents")]
    found = [refused(QueryOptions(agents={"a": agent}), Callbacks(), "agent `a`") for agent in agents]
    assert named["AgentDefinition"] == python_names(AgentDefinition, set().union(*found))
    plugin = QueryOptions(plugins=(LocalPlugin(path="/p", skip_mcp_discovery=True),))
    assert named["LocalPlugin"] == python_names(LocalPlugin, refused(plugin, Callbacks(), "a plugin"))


@given(
    st.builds(
        OPTIONS,
        allowed_tools=st.lists(texts),
        system_prompt=st.none() | texts,
        max_turns=st.none() | st.integers(-(2**63), 2**63),
        max_budget_usd=st.none() | st.floats(allow_nan=False, allow_infinity=False),
        env=st.dictionaries(texts, texts),
        extra_args=st.dictionaries(texts, st.none() | texts),
        setting_sources=st.none() | st.lists(texts),
        skills=st.none() | st.just("all") | st.lists(texts),
        output_format=st.none()
        | st.builds(lambda schema: {"type": "json_schema", "schema": schema}, json_objects),
        fork_session=st.booleans(),
    )
)
def test_any_options_come_back_the_same(theirs: OPTIONS) -> None:
    assert there_and_back(theirs) == theirs


@pytest.mark.parametrize("line", golden.lines("hooks/inputs"))
def test_what_a_hook_is_told_comes_back_the_same(line: bytes) -> None:
    theirs = json.loads(line)
    event: Any = hook_input_from_sdk(theirs).value
    assert hook_input_to_sdk(event) == theirs


@pytest.mark.parametrize("line", golden.lines("hooks/outputs"))
def test_what_a_hook_answers_comes_back_in_the_sdks_spelling(line: bytes) -> None:
    wire = json.loads(line)
    theirs = {{"async": "async_", "continue": "continue_"}.get(name, name): wire[name] for name in wire}
    output: Any = hook_output_from_sdk(theirs).value
    assert json.loads(encode(output)) == wire
    assert hook_output_to_sdk(output) == theirs


def test_answers_of_the_sdks_types_get_ours() -> None:
    detached: AsyncHookJSONOutput = {"async_": True, "asyncTimeout": 5}
    stopped: SyncHookJSONOutput = {"continue_": False}
    assert hook_output_from_sdk(detached).value == hooks.AsyncHookJSONOutput(async_=True, async_timeout=5)
    assert hook_output_from_sdk(stopped).value == hooks.SyncHookJSONOutput(continue_=False)


def test_what_nobody_declared_is_a_problem_and_no_error() -> None:
    seen = hook_input_from_sdk({"hook_event_name": "Stop", "session_id": "s", "newer": 1})
    assert seen.value == hooks.StopHookInput(session_id="s")
    assert [problem.kind for problem in seen.problems] == [ProblemKind.UNKNOWN_FIELD]


def test_a_hook_of_the_sdk_is_called_with_our_types() -> None:
    function = hook_from_sdk(theirs_hooked)
    answer = asyncio.run(_result(function(hooks.StopHookInput(session_id="s"), "t")))
    assert answer == hooks.SyncHookJSONOutput(continue_=False, stop_reason="Stop t")
    assert hook_to_sdk(function) is theirs_hooked


def test_a_hook_of_ours_is_called_with_the_sdks_dicts() -> None:
    function: Any = hook_to_sdk(ours_hooked)
    told = {"hook_event_name": "Stop", "session_id": "s", "newer": 1}
    answer = asyncio.run(_result(function(told, None, {"signal": None})))
    assert answer == {"continue_": False, "stopReason": "StopHookInput None"}
    assert hook_from_sdk(function) is ours_hooked


def test_a_hook_of_the_sdk_that_answers_what_nobody_declared_is_refused() -> None:
    async def answers(*_: Any) -> Any:
        return {"newer": 1}

    with pytest.raises(DecodeError, match="newer"):
        asyncio.run(_result(hook_from_sdk(answers)(hooks.StopHookInput(), None)))


async def _result(answer: Any) -> Any:
    return await answer
