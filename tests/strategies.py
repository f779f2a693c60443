"""What Hypothesis makes up: JSON of any shape, lines that look like Claude Code's, and damage."""

from __future__ import annotations

import json
from typing import Any, get_args

from hypothesis import strategies as st

from turnlog.messages.control.frames import CONTROL_TYPES, REQUESTS
from turnlog.messages.entries import MetadataEntry
from turnlog.messages.envelope import Envelope
from turnlog.messages.hook_events import HOOK_EVENTS
from turnlog.messages.sdk.messages import STREAM_TYPES, SYSTEM_SUBTYPES
from turnlog.messages.system import SystemSubtype

TYPES = [
    "user",
    "assistant",
    "system",
    "attachment",
    "progress",
    "human",
    "tool_use",
    "tool_result",
    "compact_system",
]
TYPES += [str(cls.__struct_config__.tag) for cls in get_args(MetadataEntry)]
SUBTYPES = [str(cls.__struct_config__.tag) for cls in get_args(SystemSubtype)]
KEYS = [
    "message",
    "content",
    "toolUseResult",
    "attachment",
    "data",
    "usage",
    "model",
    "role",
    "toolName",
    "_id",
]
KEYS += [
    "name",
    "input",
    "id",
    "text",
    "thinking",
    "tool_use_id",
    "source",
    "is_error",
    "parent_uuid",
    "operation",
]
KEYS += [*Envelope.__struct_encode_fields__]
BLOCKS = ["text", "thinking", "tool_use", "tool_result", "image", "document", "server_tool_use", "hook_success"]

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), texts
)
keys = st.one_of(st.sampled_from(KEYS), texts)
tags = st.one_of(st.sampled_from(TYPES + BLOCKS), texts)


def _containers(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    members = st.dictionaries(keys, children, max_size=6)
    tagged = st.builds(lambda tag, rest: {"type": tag, **rest}, tags, members)
    return st.one_of(st.lists(children, max_size=4), members, tagged)


json_values = st.recursive(scalars, _containers, max_leaves=12)
json_objects = st.dictionaries(keys, json_values, max_size=8)


@st.composite
def json_lines(draw: st.DrawFn, values: st.SearchStrategy[Any] = json_objects) -> bytes:
    """An object as one line, in any of the ways to write it."""
    return json.dumps(
        draw(values),
        ensure_ascii=draw(st.booleans()),
        separators=draw(st.sampled_from([(",", ":"), (", ", ": "), (" , ", " : ")])),
    ).encode()


_blocks = st.one_of(
    st.builds(lambda text: {"type": "text", "text": text}, texts),
    st.builds(lambda text: {"type": "thinking", "thinking": text, "signature": text}, texts),
    st.builds(
        lambda i, value: {"type": "tool_use", "id": i, "name": "Read", "input": value}, texts, json_objects
    ),
    st.builds(lambda i, text: {"tool_use_id": i, "type": "tool_result", "content": text}, texts, texts),
    st.builds(lambda value: {"type": "new_block", "value": value}, json_values),
    json_objects,
)
_messages = st.fixed_dictionaries(
    {
        "role": st.sampled_from(["user", "assistant"]),
        "content": st.one_of(texts, st.lists(_blocks, max_size=3)),
    },
    optional={
        "id": texts,
        "model": texts,
        "stop_reason": st.one_of(st.none(), st.sampled_from(["end_turn", "new_reason"])),
        "usage": st.fixed_dictionaries({"input_tokens": st.integers(0, 10**9)}, optional={"speed": texts}),
    },
)
_envelope = {
    "uuid": texts,
    "parentUuid": st.one_of(st.none(), texts),
    "timestamp": st.one_of(texts, st.integers(0, 2**42), st.just("2026-01-02T03:04:05.678Z")),
    "sessionId": texts,
    "isSidechain": st.booleans(),
    "cwd": texts,
}
_conversation = st.fixed_dictionaries(
    {"type": st.sampled_from(["user", "assistant", "human"]), "message": _messages},
    optional={**_envelope, "toolUseResult": json_values, "newField": json_values},
)
_systems = st.fixed_dictionaries(
    {"type": st.just("system"), "subtype": st.one_of(st.sampled_from(SUBTYPES), texts), "content": texts},
    optional={**_envelope, "level": st.sampled_from(["info", "new"]), "durationMs": st.floats(0, 1e9)},
)
_others = st.builds(lambda type_, rest: {"type": type_, **rest}, st.sampled_from(TYPES), json_objects)

_stream = st.builds(
    lambda type_, rest: {"type": type_, "session_id": "s", **rest},
    st.sampled_from([*STREAM_TYPES, "system", "future"]),
    st.fixed_dictionaries(
        {},
        optional={
            "message": _messages,
            "subtype": st.sampled_from([*SYSTEM_SUBTYPES, "omen"]),
            "parent_tool_use_id": st.none(),
            "isReplay": st.booleans(),
            "event": json_objects,
        },
    ),
)
_control = st.fixed_dictionaries(
    {"type": st.sampled_from([*CONTROL_TYPES])},
    optional={
        "request_id": texts,
        "request": st.builds(
            lambda subtype, rest: {"subtype": subtype, **rest}, st.sampled_from([*REQUESTS]), json_objects
        ),
        "response": st.one_of(
            json_objects, st.fixed_dictionaries({"subtype": st.just("success"), "request_id": texts})
        ),
    },
)
_hooks = st.builds(
    lambda name, rest: {"hook_event_name": name, "session_id": "s", **rest},
    st.one_of(st.sampled_from([*HOOK_EVENTS]), texts),
    st.fixed_dictionaries(
        {}, optional={"tool_name": texts, "tool_input": json_values, "prompt": texts, "x": json_values}
    ),
)

lines = json_lines(st.one_of(_conversation, _systems, _others, _stream, _control, _hooks))
"""Lines that look like real ones, with unknown things here and there."""


_names = st.sampled_from([f"n{number}" for number in range(8)])
"""So few that lines meet: copies, circles, shared messages, results of calls that came or did not."""
_meeting_blocks = st.one_of(
    st.builds(lambda text: {"type": "text", "text": text}, st.sampled_from(["", "yes", "<system-reminder>x"])),
    st.builds(lambda text: {"type": "thinking", "thinking": text}, st.sampled_from(["", "hm"])),
    st.builds(
        lambda i, name: {"type": "tool_use", "id": i, "name": name, "input": {"prompt": "yes"}},
        _names,
        st.sampled_from(["Bash", "Task", "Agent"]),
    ),
    st.builds(lambda i, text: {"type": "tool_result", "tool_use_id": i, "content": text}, _names, _names),
)
_prompts = st.sampled_from(
    [
        "yes",
        "",
        "[Request interrupted by user]",
        "<command-name>/x</command-name>",
        "<local-command-stdout>y</local-command-stdout>",
        "<task-notification><task-id>n1</task-id><status>completed</status></task-notification>",
    ]
)
_meeting_envelope = {
    "uuid": _names,
    "parentUuid": st.one_of(st.none(), _names),
    "logicalParentUuid": _names,
    "isSidechain": st.booleans(),
    "agentId": _names,
    "isMeta": st.booleans(),
    "isDeleted": st.booleans(),
    "is_active": st.booleans(),
    "isCompactSummary": st.booleans(),
    "sourceToolAssistantUUID": _names,
    "timestamp": st.sampled_from(["2026-01-02T03:04:05Z", "2026-01-02T03:04:06Z", "then"]),
}
_meetings = st.one_of(
    st.fixed_dictionaries(
        {
            "type": st.sampled_from(["user", "assistant"]),
            "sessionId": st.just("s"),
            "message": st.fixed_dictionaries(
                {"content": st.one_of(_prompts, st.lists(_meeting_blocks, max_size=2))}, optional={"id": _names}
            ),
        },
        optional=_meeting_envelope,
    ),
    st.fixed_dictionaries(
        {
            "type": st.just("system"),
            "subtype": st.sampled_from(["compact_boundary", "turn_duration", "local_command"]),
            "sessionId": st.just("s"),
        },
        optional={
            **_meeting_envelope,
            "durationMs": st.integers(0, 9),
            "compactMetadata": st.fixed_dictionaries(
                {},
                optional={
                    "preservedMessages": st.fixed_dictionaries(
                        {"anchorUuid": _names, "uuids": st.lists(_names, max_size=3)}
                    ),
                    "preservedSegment": st.fixed_dictionaries(
                        {"headUuid": _names, "anchorUuid": _names, "tailUuid": _names}
                    ),
                },
            ),
        },
    ),
    st.fixed_dictionaries(
        {"type": st.just("queue-operation"), "operation": st.sampled_from(["enqueue", "dequeue", "popAll"])},
        optional={"content": _prompts},
    ),
    st.fixed_dictionaries({"type": st.just("summary"), "summary": texts}, optional={"leafUuid": _names}),
)
sessions = st.lists(json_lines(_meetings), max_size=14)
"""Lines of one session that refer to each other, rightly or not."""


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A line with some of its bytes cut, doubled, swapped or made up."""
    line = draw(lines)
    start = draw(st.integers(0, len(line)))
    end = draw(st.integers(start, len(line)))
    piece = draw(
        st.one_of(st.binary(max_size=6), st.just(line[start:end] * 2), st.just(b'"}]{["'), st.just(b"\\ud800"))
    )
    return line[:start] + piece + line[end:]
