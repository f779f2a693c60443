"""Lines that have to do with each other in every way that files know, and in any order."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

import turnlog
from turnlog.messages import Line, Position


@st.composite
def made_up_lines(draw: st.DrawFn) -> list[Line]:
    """Lines of few names, so that they have to do with each other in every way, and in any order."""
    names = st.sampled_from([f"u{number}" for number in range(12)])
    calls = st.sampled_from([f"t{number}" for number in range(4)])
    texts = st.sampled_from(
        [
            "Go on",
            "Stop",
            "<command-name>/go</command-name>",
            "<local-command-stdout>done</local-command-stdout>",
        ]
    )
    lines = []
    for number in range(draw(st.integers(1, 24))):
        line: dict[str, object] = {
            "uuid": draw(names | st.just(f"v{number}")),
            "parentUuid": draw(st.none() | names | st.just(f"v{number - 1}")),
            "isSidechain": draw(st.sampled_from([False] * 5 + [True])),
            "sessionId": "s",
            "timestamp": f"2026-05-01T10:00:{number % 60:02}.000Z",
        }
        kind = draw(st.sampled_from([*_CONTENTS, "answer"]))
        line |= draw(_CONTENTS[kind](number, calls, texts, names))
        lines.append(turnlog.decode(json.dumps(line), at=Position("file", number * 1000)))
    return lines


def _prompt(number: int, calls: Any, texts: Any, names: Any) -> Any:
    return st.builds(lambda text: {"type": "user", "message": {"role": "user", "content": text}}, texts)


def _answer(number: int, calls: Any, texts: Any, names: Any) -> Any:
    blocks = st.sampled_from([{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Done."}])
    ids = st.sampled_from([*(f"m{each}" for each in range(5)), f"n{number}"])
    replaced: Any = st.lists(names, max_size=1)
    return st.builds(build_answer, st.lists(blocks, max_size=2), ids, replaced)


def _call(number: int, calls: Any, texts: Any, names: Any) -> Any:
    blocks = st.builds(lambda call: [{"type": "tool_use", "id": call, "name": "Bash", "input": {}}], calls)
    return st.builds(build_answer, blocks, st.sampled_from(["m1", f"n{number}"]), st.just([]))


def build_answer(blocks: list[Any], identity: str, replaced: list[str]) -> dict[str, Any]:
    message: dict[str, Any] = {
        "role": "assistant",
        "id": identity,
        "model": "claude-sonnet-4-5",
        "content": blocks,
    }
    message["usage"] = {"output_tokens": 3}
    return {"type": "assistant", "message": message} | ({"supersedesUuids": replaced} if replaced else {})


def _result(number: int, calls: Any, texts: Any, names: Any) -> Any:
    blocks = st.builds(lambda call: {"type": "tool_result", "tool_use_id": call, "content": "ok"}, calls)
    return st.builds(
        lambda content: {"type": "user", "message": {"role": "user", "content": content}},
        st.lists(blocks, min_size=1, max_size=2),
    )


def _queue(number: int, calls: Any, texts: Any, names: Any) -> Any:
    actions = st.sampled_from(["enqueue", "enqueue", "dequeue", "remove", "popAll"])
    return st.builds(
        lambda action, text: {"type": "queue-operation", "operation": action, "content": text}, actions, texts
    )


def _system(number: int, calls: Any, texts: Any, names: Any) -> Any:
    kept = st.builds(
        lambda uuids, anchor: {"preservedMessages": {"uuids": uuids, "anchorUuid": anchor}},
        st.lists(names, max_size=3),
        names,
    )
    boundaries = st.builds(
        lambda metadata: {"type": "system", "subtype": "compact_boundary", "compactMetadata": metadata}, kept
    )
    durations = st.just({"type": "system", "subtype": "turn_duration", "durationMs": 1000})
    return boundaries | durations | st.just({"type": "system", "subtype": "informational", "content": "So."})


def _summary(number: int, calls: Any, texts: Any, names: Any) -> Any:
    return st.builds(lambda leaf: {"type": "summary", "summary": "All of it", "leafUuid": leaf}, names)


_CONTENTS: dict[str, Callable[..., Any]] = {
    "prompt": _prompt,
    "answer": _answer,
    "call": _call,
    "result": _result,
    "queue": _queue,
    "system": _system,
    "summary": _summary,
}
