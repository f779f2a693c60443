"""Spec 000, and the same rules in today's files."""

from __future__ import annotations

from typing import Any

from validation_cases.base import Case, without

_TIME = "2025-02-03T09:00:{:02}Z"


def old(type_: str, number: int, **more: Any) -> dict[str, Any]:
    """Return a line of spec 000 that follows the one with the number before."""
    parent = f"m-{number - 1}" if number > 1 else None
    line = {"type": type_, "uuid": f"m-{number}", "parentUuid": parent, "timestamp": _TIME.format(number)}
    return {**line, "sessionId": "s-1", "message": "tea", **more}


def call(number: int, **more: Any) -> dict[str, Any]:
    """Return a tool invocation."""
    fields = {"subtype": "tool_use", "toolName": "Read", "toolArguments": {"file_path": "/tea"}}
    return without(old("assistant", number, **{**fields, **more}), "message")


def result(number: int, **more: Any) -> dict[str, Any]:
    """Return a tool result."""
    return old("system", number, subtype="tool_result", **more)


def today(type_: str, number: int, **more: Any) -> dict[str, Any]:
    """Return a line of today that follows the one with the number before."""
    return old(type_, number, **{"message": {"role": type_, "content": "tea"}, **more})


CASES = [
    Case(
        "000-1-unique-uuid",
        [
            old("user", 1),
            old("assistant", 2),
            old("assistant", 3, uuid="m-2"),
            old("user", 1, sessionId="s-2"),
            old("user", 1, sessionId="s-2"),
        ],
        [
            "3 error 000-1-unique-uuid: Expected an unused uuid, found `m-2`, which line 2 uses - at $.uuid",
            "5 error 000-1-unique-uuid: Expected an unused uuid, found `m-1`, which line 4 uses - at $.uuid",
        ],
        [
            old("user", 1),
            old("user", 1, sessionId="s-2"),
            old("assistant", 2, sessionId="s-2"),
            old("assistant", 2),
        ],
    ),
    Case(
        "000-1-unique-uuid",
        [today("user", 1), today("assistant", 2), today("assistant", 2)],
        ["3 note 000-1-unique-uuid: Expected an unused uuid, found `m-2`, which line 2 uses - at $.uuid"],
        [today("user", 1), today("assistant", 2)],
    ),
    Case(
        "000-2-iso-timestamp",
        [old("user", 1, timestamp="yesterday"), old("user", 2, timestamp=1738573201234)],
        [
            "1 error 000-2-iso-timestamp: Expected a time in ISO 8601, found `yesterday` - at $.timestamp",
            "2 error 000-2-iso-timestamp: Expected a time in ISO 8601, found `1738573201234` - at $.timestamp",
        ],
        [old("user", 1, timestamp="2025-02-03T09:00:00.250+02:00"), old("user", 2)],
    ),
    Case(
        "000-2-iso-timestamp",
        [today("user", 1, timestamp="soon")],
        ["1 warning 000-2-iso-timestamp: Expected a time in ISO 8601, found `soon` - at $.timestamp"],
        [today("user", 1)],
    ),
    Case(
        "000-3-parent-exists",
        [old("user", 1), old("user", 2, parentUuid="m-9")],
        [
            "2 error 000-3-parent-exists: Expected a parent in the same session, found `m-9`, "
            "which is on no line - at $.parentUuid"
        ],
        [old("user", 2), old("user", 1), without(old("user", 3), "parentUuid")],
    ),
    Case(
        "000-3-parent-exists",
        [today("user", 1, parentUuid="m-9")],
        [
            "1 note 000-3-parent-exists: Expected a parent in the same session, found `m-9`, "
            "which is on no line - at $.parentUuid"
        ],
    ),
    Case(
        "000-3-parent-exists",
        [old("user", 1), old("user", 2, sessionId="s-2")],
        [
            "2 error 000-3-parent-exists: Expected a parent in the same session, found `m-1` "
            "of session `s-1` - at $.parentUuid"
        ],
    ),
    Case(
        "000-4-structure",
        [
            old("user", 1, toolName="Read"),
            old("assistant", 2, subtype="dance"),
            old("system", 3, message=["tea"]),
            old("system", 4, subtype="error", isError="yes"),
            old("compact_system", 5, message="conversation_compacted", metadata=5),
            call(6, toolName=5),
        ],
        [
            "1 error 000-4-structure: Expected a field of User000, found `toolName` - at $.toolName",
            "2 error 000-4-structure: Expected a known `subtype`, found `dance` - at $.subtype",
            "3 error 000-4-structure: Expected a string, found an array - at $.message",
            "4 error 000-4-structure: Expected true or false or null, found a string - at $.isError",
            "5 error 000-4-structure: Expected an object (CompactionStatistics) or null, found `5` "
            "- at $.metadata",
            "6 error 000-4-structure: Expected a string, found `5` - at $.toolName",
        ],
        [old("user", 1), old("assistant", 2, subtype="response"), old("system", 3)],
    ),
    Case(
        "000-5-tool-fields",
        [
            without(call(1), "toolName"),
            without(call(2), "toolArguments"),
            old("assistant", 3, subtype="tool_use"),
            call(4, toolArguments=["/tea"]),
            without(call(5), "subtype", "toolName"),
        ],
        [
            "1 error 000-5-tool-fields: Expected `toolName` in a tool invocation, found nothing",
            "2 error 000-5-tool-fields: Expected `toolArguments` in a tool invocation, found nothing",
            "2 note 003-C3-paired: Expected a result for the call of `Read`, found none",
            "3 error 000-5-tool-fields: Expected `toolName` and `toolArguments` in a tool invocation, "
            "found nothing",
            "4 error 000-5-tool-fields: Expected an object, found an array - at $.toolArguments",
            "4 note 003-C3-paired: Expected a result for the call of `Read`, found none",
            "5 error 000-5-tool-fields: Expected `toolName` in a tool invocation, found nothing",
        ],
        [call(1), result(2)],
    ),
    Case(
        "000-5-tool-fields",
        [
            today("user", 1),
            today("assistant", 2, message={"content": [{"type": "tool_use", "id": "t-1", "input": {}}]}),
            today("assistant", 3, message={"content": [{"type": "tool_use", "id": "t-2", "name": "Read"}]}),
            today("user", 4, message={"content": [{"type": "tool_result", "tool_use_id": "t-2"}]}),
        ],
        [
            "2 warning 000-5-tool-fields: Expected field `name`, found nothing - at $.message.content[0]",
            "3 warning 000-5-tool-fields: Expected `input` in a `tool_use`, found nothing "
            "- at $.message.content[0]",
        ],
    ),
    Case(
        "000-6-sidechain",
        [
            old("user", 1),
            old("user", 2, isSidechain=True),
            old("assistant", 3),
            old("assistant", 4, isSidechain=True),
            old("user", 5),
        ],
        [
            "3 error 000-6-sidechain: Expected `isSidechain: true` as in its parent on line 2, found nothing",
            "5 error 000-6-sidechain: Expected `isSidechain: true` as in its parent on line 4, found nothing",
        ],
        [
            old("user", 1),
            old("assistant", 2),
            old("user", 3, isSidechain=True),
            old("assistant", 4, isSidechain=True),
            old("assistant", 5),
        ],
    ),
    Case(
        "000-6-sidechain",
        [today("user", 1, isSidechain=True), today("assistant", 2, isSidechain=False)],
        ["2 note 000-6-sidechain: Expected `isSidechain: true` as in its parent on line 1, found `false`"],
        [today("user", 1, isSidechain=True), today("assistant", 2, isSidechain=True)],
    ),
    Case(
        "000-F1-required-fields",
        [
            without(old("user", 1), "uuid", "timestamp"),
            old("system", 1, sessionId=""),
            without(old("compact_system", 2), "message"),
            without(old("compact_system", 3, message="conversation_restored"), "uuid"),
            old("user", 3, sessionId=5),
        ],
        [
            "1 error 000-F1-required-fields: Expected `uuid` and `timestamp`, found nothing",
            "2 error 000-F1-required-fields: Expected `sessionId`, found nothing",
            "3 error 000-F1-required-fields: Expected field `message`, found nothing",
            "4 error 000-F1-required-fields: Expected `uuid`, found nothing",
            "5 error 000-4-structure: Expected a string or null, found `5` - at $.sessionId",
        ],
        [old("user", 1), old("system", 2), old("compact_system", 3, message="conversation_restoring")],
    ),
    Case(
        "000-F1-required-fields",
        [without(today("user", 1), "uuid", "timestamp", "sessionId"), {"type": "mode", "mode": "plan"}],
        ["1 note 000-F1-required-fields: Expected `uuid`, `sessionId` and `timestamp`, found nothing"],
    ),
    Case(
        "000-F2-user-message",
        [without(old("user", 1), "message")],
        ["1 warning 000-F2-user-message: Expected `message`, found nothing; it may be a command"],
        [old("user", 1)],
    ),
    Case(
        "000-F3-system-message",
        [without(old("system", 1, subtype="meta", isMeta=True), "message")],
        ["1 error 000-F3-system-message: Expected `message`, found nothing"],
        [old("system", 1, subtype="meta", isMeta=True)],
    ),
    Case(
        "000-F4-compacted-metadata",
        [
            old("compact_system", 1, message="conversation_compacted"),
            old("compact_system", 2, message="conversation_compacted", metadata=None),
        ],
        [
            f"{number} error 000-F4-compacted-metadata: Expected `metadata` in a finished compaction, "
            "found none"
            for number in (1, 2)
        ],
        [
            old("compact_system", 1, message="conversation_compacting"),
            old("compact_system", 2, message="conversation_compacted", metadata={"preservedMessages": 1}),
        ],
    ),
    Case(
        "000-S1-subtype-contents",
        [
            without(old("assistant", 1, subtype="thinking"), "message"),
            old("system", 2, subtype="error"),
            old("system", 3, subtype="meta", isMeta=False),
        ],
        [
            "1 warning 000-S1-subtype-contents: Expected `message` for subtype `thinking`, found nothing",
            "2 warning 000-S1-subtype-contents: Expected `isError: true` for subtype `error`, found nothing",
            "3 warning 000-S1-subtype-contents: Expected `isMeta: true` for subtype `meta`, found `false`",
        ],
        [
            old("assistant", 1, subtype="thinking"),
            old("system", 2, subtype="error", isError=True),
            old("system", 3, subtype="meta", isMeta=True),
            without(old("assistant", 4), "message"),
        ],
    ),
]
