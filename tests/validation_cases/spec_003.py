"""Spec 003: documents, and calls and results taken out of their messages."""

from __future__ import annotations

import json
from typing import Any

from validation_cases.base import Case, without
from validation_cases.spec_000 import call, old, result, today


def doc(type_: str, uuid: str, parent: str | None, **more: Any) -> dict[str, Any]:
    """Return a document."""
    return {"type": type_, "uuid": uuid, "parentUuid": parent, "sessionId": "s-1", "content": "tea", **more}


def tool_use(uuid: str, parent: str | None, **more: Any) -> dict[str, Any]:
    """Return an extracted call."""
    content = json.dumps({"type": "tool_use", "name": "Read", "input": {"file_path": "/tea"}})
    return doc("tool_use", uuid, parent, **{"content": content, "isSidechain": True, **more})


def tool_result(uuid: str, parent: str | None, **more: Any) -> dict[str, Any]:
    """Return an extracted result."""
    return doc("tool_result", uuid, parent, **{"isSidechain": True, **more})


def caller(uuid: str, parent: str | None, **more: Any) -> dict[str, Any]:
    """Return an answer that calls a tool."""
    block = {"type": "tool_use", "id": f"t-{uuid}", "name": "Read", "input": {"file_path": "/tea"}}
    fields = {"costUsd": 0.1, "message": {"content": [block]}, **more}
    return without(doc("assistant", uuid, parent, **fields), "content")


_USER = doc("user", "a", None)
_CALLER = caller("b", "a")
_CALL = tool_use("b_tool_0", "b")
_RESULT = tool_result("b_result_0", "b_tool_0")
_GOOD = [_USER, _CALLER, _CALL, _RESULT]

_PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": ""}}
_READ = {"type": "tool_use", "id": "t-1", "name": "Read", "input": {}}
_DONE = {"type": "tool_result", "tool_use_id": "t-1", "content": "tea"}


def api(line: dict[str, Any]) -> dict[str, Any]:
    """Return a document as the API gives it."""
    keys = {"parentUuid": "parent_uuid", "sessionId": "session_id"}
    return {keys.get(key, key): value for key, value in line.items()}


CASES = [
    Case(
        "003-1-parent-given",
        [
            doc("user", "a", None),
            doc("assistant", "b", None),
            without(doc("assistant", "c", None), "parentUuid"),
        ],
        [
            "2 error 003-1-parent-given: Expected a parent for an answer, found none",
            "3 error 003-1-parent-given: Expected a parent for an answer, found none",
        ],
        [
            doc("assistant", "z", None, sessionId="s-0"),
            doc("user", "a", None),
            doc("assistant", "b", "a"),
            {"_id": "1", "type": "summary", "summary": "tea"},
        ],
    ),
    Case(
        "003-2-parent-in-session",
        [doc("user", "a", None), doc("assistant", "b", "z"), doc("assistant", "c", "a", sessionId="s-2")],
        [
            "2 error 003-2-parent-in-session: Expected a parent in the same session, found `z`, "
            "which is on no line - at $.parentUuid",
            "3 error 003-2-parent-in-session: Expected a parent in the same session, found `a` "
            "of session `s-1` - at $.parentUuid",
        ],
        [doc("assistant", "b", "a"), doc("user", "a", None, sessionId="s-2"), doc("user", "a", None)],
    ),
    Case(
        "003-2-parent-in-session",
        [_USER, caller("b", "a", sessionId="s-2"), _CALL, _RESULT],
        [
            "2 error 003-2-parent-in-session: Expected a parent in the same session, found `a` "
            "of session `s-1` - at $.parentUuid",
            "3 error 003-2-parent-in-session: Expected a parent in the same session, found `b` "
            "of session `s-2` - at $.parentUuid",
        ],
        [
            doc("assistant", "b", "a"),
            without(doc("assistant", "d", "c"), "sessionId"),
            without(doc("user", "a", None), "sessionId"),
            doc("user", "c", None),
        ],
    ),
    Case(
        "003-2-parent-in-session",
        [api(doc("assistant", "b", "z"))],
        [
            "1 error 003-2-parent-in-session: Expected a parent in the same session, found `z`, "
            "which is on no line - at $.parent_uuid"
        ],
        [api(doc("user", "a", None)), api(doc("assistant", "b", "a"))],
    ),
    Case(
        "003-2-parent-in-session",
        [today("user", 1, sessionId="s-0"), today("assistant", 2)],
        [
            "2 note 003-2-parent-in-session: Expected a parent in the same session, found `m-1` "
            "of session `s-0` - at $.parentUuid"
        ],
    ),
    Case(
        "003-3-tool-sidechain",
        [_USER, _CALLER, without(_CALL, "isSidechain"), {**_RESULT, "isSidechain": False}],
        [
            "3 error 003-3-tool-sidechain: Expected `isSidechain: true` for a tool use, found nothing",
            "4 error 003-3-tool-sidechain: Expected `isSidechain: true` for a tool result, found `false`",
        ],
        _GOOD,
    ),
    Case(
        "003-4-result-parent",
        [_USER, _CALLER, _CALL, tool_result("b_result_0", "b")],
        [
            "4 error 003-4-result-parent: Expected a tool use as parent, "
            "found an assistant message that calls tools on line 2 - at $.parentUuid"
        ],
        _GOOD,
    ),
    Case(
        "003-5-tool-children",
        [*_GOOD, caller("c", "b"), today("assistant", 1, message=caller("d", None)["message"])],
        [
            f"{number} {severity}: {message}"
            for number in (5, 6)
            for severity, message in (
                (
                    "warning 003-5-tool-children",
                    "Expected tool messages as children of an answer that calls tools, found none",
                ),
                (
                    f"{'warning' if number == 5 else 'note'} 003-C3-paired",
                    f"Expected a result for the call of `Read` `t-{'c' if number == 5 else 'd'}`, found none"
                    + ("" if number == 5 else " - at $.message.content[0]"),
                ),
            )
        ],
        _GOOD,
    ),
    Case(
        "003-C1-no-cycles",
        [doc("user", "a", "c"), doc("assistant", "b", "a"), doc("user", "c", "b"), doc("user", "d", "d")],
        [
            f"{number} error 003-C1-no-cycles: Expected parents that lead to a root, "
            "found a cycle through this line - at $.parentUuid"
            for number in (1, 4)
        ],
        [doc("user", "a", None), doc("assistant", "b", "a"), doc("user", "c", "b")],
    ),
    Case(
        "003-C1-no-cycles",
        [
            today("user", 1, parentUuid="m-2", timestamp="2025-02-03T09:00:02Z"),
            today("assistant", 2),
            old("user", 3, parentUuid="m-3"),
        ],
        [
            f"{number} warning 003-C1-no-cycles: Expected parents that lead to a root, "
            "found a cycle through this line - at $.parentUuid"
            for number in (1, 3)
        ],
        [today("user", 1), today("assistant", 2), old("user", 3)],
    ),
    Case(
        "003-C2-orphaned-tool",
        [
            _USER,
            _CALLER,
            {**_CALL, "parentUuid": "a"},
            _RESULT,
            tool_use("z_tool_0", "z"),
            tool_result("z_result_0", "z_tool_0"),
            without(tool_use("y_tool_0", None), "parentUuid"),
            tool_result("y_result_0", None),
        ],
        [
            "2 warning 003-5-tool-children: Expected tool messages as children of an answer that calls tools, "
            "found none",
            "3 error 003-C2-orphaned-tool: Expected the answer that calls the tool as parent, "
            "found a user message on line 1 - at $.parentUuid",
            "5 error 003-C2-orphaned-tool: Expected a parent in the same session, found `z`, "
            "which is on no line - at $.parentUuid",
            "7 error 003-C2-orphaned-tool: Expected a parent for a tool use, found none",
            "8 error 003-C2-orphaned-tool: Expected a parent for a tool result, found none",
        ],
        _GOOD,
    ),
    Case(
        "003-C1-no-cycles",
        [doc("user", "a", "a")],
        [
            "1 error 003-C1-no-cycles: Expected parents that lead to a root, "
            "found a cycle through this line - at $.parentUuid"
        ],
    ),
    Case(
        "003-C2-orphaned-tool",
        [tool_result("y", "z", messageData={"content": [{"type": "tool_result", "tool_use_id": "t-9"}]})],
        [
            "1 error 003-C2-orphaned-tool: Expected a parent in the same session, found `z`, "
            "which is on no line - at $.parentUuid"
        ],
    ),
    Case(
        "003-C2-orphaned-tool",
        [old("user", 1), result(2)],
        ["2 warning 003-C2-orphaned-tool: Expected a call that the result answers, found none"],
        [
            old("user", 1),
            call(2),
            call(3),
            result(4, parentUuid="m-2"),
            old("system", 5, subtype="error", isError=True, parentUuid="m-3"),
            call(6),
            result(7, parentUuid=None),
        ],
    ),
    Case(
        "003-C3-paired",
        [
            _USER,
            without(
                doc(
                    "user",
                    "e",
                    "a",
                    _id="1",
                    messageData={"content": [{"type": "tool_result", "tool_use_id": "t-9"}]},
                ),
                "content",
            ),
        ],
        ["2 warning 003-C3-paired: Expected the id of a call, found `t-9`, which no call has"],
    ),
    Case(
        "003-C3-paired",
        [
            _USER,
            _CALLER,
            _CALL,
            tool_use("b_tool_1", "b"),
            tool_result("b_result_1", "b_tool_1"),
            tool_result("x", "b_tool_1"),
        ],
        [
            "2 warning 003-C3-paired: Expected a result for the call of `Read` `t-b`, found none",
            "6 warning 003-C3-paired: Expected one result for the tool use on line 4, found another "
            "- at $.parentUuid",
        ],
        _GOOD,
    ),
    Case(
        "003-C3-paired",
        [
            today(
                "assistant",
                1,
                message={"content": [{"type": "tool_use", "id": "t-1", "name": "Read", "input": {}}]},
            )
        ],
        [
            "1 note 003-C3-paired: Expected a result for the call of `Read` `t-1`, found none "
            "- at $.message.content[0]"
        ],
    ),
    Case(
        "003-C3-paired",
        [
            today("assistant", 1, message={"content": [_READ]}),
            today("user", 2, message={"content": [_DONE]}),
            today("user", 3, message={"content": [_DONE]}),
        ],
        [
            "1 note 003-C3-paired: Expected one result for the call of `Read` `t-1`, found 2 "
            "- at $.message.content[0]"
        ],
        [today("assistant", 1, message={"content": [_READ]}), today("user", 2, message={"content": [_DONE]})],
    ),
    Case(
        "003-C4-chronology",
        [
            doc("user", "a", None, timestamp="2025-02-03T09:00:02Z"),
            doc("assistant", "b", "a", timestamp="2025-02-03T09:00:01Z"),
        ],
        [
            "2 warning 003-C4-chronology: Expected no time earlier than 2025-02-03T09:00:02+00:00 of its "
            "parent on line 1, found 2025-02-03T09:00:01+00:00 - at $.timestamp"
        ],
        [
            doc("user", "a", None, timestamp="2025-02-03T09:00:02Z"),
            doc("assistant", "b", "a", timestamp="2025-02-03T10:00:02+01:00"),
        ],
    ),
    Case(
        "000-1-unique-uuid",
        [_USER, _USER],
        ["2 warning 000-1-unique-uuid: Expected an unused uuid, found `a`, which line 1 uses - at $.uuid"],
    ),
    Case(
        "000-5-tool-fields",
        [
            _USER,
            caller("b", "a", message={"content": [{"type": "tool_use", "id": "t-b", "name": "Read"}]}),
            {**_CALL, "content": "[]"},
            tool_use("b_tool_1", "b", content='{"type": "tool_use", "name": "Read"}'),
            tool_result("b_result_1", "b_tool_1"),
            _RESULT,
        ],
        [
            "2 warning 000-5-tool-fields: Expected `input` in a `tool_use`, found nothing "
            "- at $.message.content[0]",
            "3 warning 000-5-tool-fields: Expected an object, found an array - at $.content",
            "4 warning 000-5-tool-fields: Expected `input` in a `tool_use`, found nothing - at $.content",
        ],
        _GOOD,
    ),
    Case(
        "004-7-image-encoding",
        [
            doc("user", "a", None, content=[_PICTURE]),
            doc("user", "b", "a", messageData={"content": [_PICTURE]}),
            api(doc("user", "c", "b", message_data={"content": [_PICTURE]})),
            without(doc("user", "d", "c", _id="1", message={"content": [_PICTURE]}), "content"),
        ],
        [
            f"{number} warning 004-7-image-encoding: Expected base64, found nothing "
            f"- at $.{place}[0].source.data"
            for number, place in enumerate(
                ("content", "messageData.content", "message_data.content", "message.content"), 1
            )
        ],
    ),
]
