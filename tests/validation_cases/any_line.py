"""What any line is held to."""

from __future__ import annotations

from validation_cases.base import Case
from validation_cases.control import ask, grant
from validation_cases.spec_000 import old, today
from validation_cases.spec_003 import caller, doc, tool_result, tool_use
from validation_cases.spec_004 import new
from validation_cases.stream import INIT, answer

CASES = [
    Case(
        "line-malformed",
        [b'{"type":"mode"', b"[1]", b""],
        [
            "1 error line-malformed: Expected a JSON object, found the end of the line before the end "
            "of the object (byte 14)",
            "2 error line-malformed: Expected a JSON object, found an array (byte 0)",
            "3 error line-malformed: Expected a JSON object, found nothing (byte 0)",
        ],
        [{"type": "mode", "mode": "plan"}],
    ),
    Case(
        "line-glued",
        [b'{"type":"mode","mode":"a"}{"type":"mode","mode":"b"}'],
        ["1 warning line-glued: Expected one object, found 2 objects on one line (byte 26)"],
        [b'{"type":"mode","mode":"a"}', b'{"type":"mode","mode":"b"}'],
    ),
    Case(
        "line-bad-text",
        [b'{"type":"mode","mode":"\\ud83d"}', b'{"type":"mode","mode":"\xff"}'],
        [
            "1 warning line-bad-text: Expected text, found a lone surrogate `\\ud83d` (byte 23)",
            "2 warning line-bad-text: Expected UTF-8, found byte 0xff (byte 23)",
        ],
        [b'{"type":"mode","mode":"\\ud83d\\ude00"}'],
    ),
    Case(
        "line-missing-type",
        [{"uuid": "m-1", "message": {"role": "user", "content": "tea"}}, {"type": 5}],
        [
            "1 error line-missing-type: Expected a known `type`, found nothing",
            "2 error line-missing-type: Expected a known `type`, found `5` - at $.type",
        ],
        [{"type": "mode", "mode": "plan"}],
    ),
    Case(
        "line-unknown-type",
        [
            {"type": "omen"},
            today("user", 1, message={"content": [{"type": "omen"}]}),
            new("human", 1, [{"type": "omen"}]),
            INIT,
            answer(content=[{"type": "omen"}]),
            ask("can_use_tool", tool_name="Bash", input={}, permission_suggestions=[{"type": "omen"}]),
            grant(response={"behavior": "deny"}),
        ],
        [
            "1 note line-unknown-type: Expected a known `type`, found `omen` - at $.type",
            "2 note line-unknown-type: Expected a known `type`, found `omen` - at $.message.content[0]",
            "3 note line-unknown-type: Expected a known `type`, found `omen` - at $.message.content[0]",
            "5 note line-unknown-type: Expected a known `type`, found `omen` - at $.message.content[0]",
            "6 note line-unknown-type: Expected a known `type`, found `omen` "
            "- at $.request.permission_suggestions[0]",
        ],
        [{"type": "mode", "mode": "plan"}],
    ),
    Case(
        "line-unknown-field",
        [
            {"type": "mode", "mode": "plan", "omen": 1, "a\u001b[31m": 2},
            INIT,
            {**answer(), "name": "tea"},
            answer(content=[{"type": "text", "text": "tea", "cache_control": {"name": "tea"}}]),
            ask("interrupt", omen=1),
            grant(),
            old("user", 1, omen=1),
            tool_use("b_tool_0", "b", content='{"type": "tool_use", "name": "Read", "input": {}, "omen": 1}'),
            tool_result("b_result_0", "b_tool_0"),
            caller("b", "m-1", sessionId="s-1"),
        ],
        [
            "1 note line-unknown-field: Expected a field of Mode, found `omen` - at $.omen",
            '1 note line-unknown-field: Expected a field of Mode, found `a\\x1b[31m` - at $["a\\u001b[31m"]',
            "3 note line-unknown-field: Expected a field of AssistantMessage, found `name` - at $.name",
            "4 note line-unknown-field: Expected a field of CacheControl, found `name` "
            "- at $.message.content[0].cache_control.name",
            "5 note line-unknown-field: Expected a field of InterruptRequest, found `omen` - at $.request.omen",
            "7 note line-unknown-field: Expected a field of User000, found `omen` - at $.omen",
            "8 note line-unknown-field: Expected a field of ToolUseBlock, found `omen` - at $.content",
        ],
        [{"type": "mode", "mode": "plan"}],
    ),
    Case(
        "line-unknown-value",
        [today("user", 1, permissionMode="omen")],
        ["1 note line-unknown-value: Expected a known `permissionMode`, found `omen` - at $.permissionMode"],
        [today("user", 1, permissionMode="plan")],
    ),
    Case(
        "line-wrong-type",
        [
            today("user", 1, cwd=5),
            doc("user", "a", None, content=5),
            caller("b", "a", sessionId="s-1"),
            tool_use("b_tool_0", "b", cwd=5),
            tool_result("b_result_0", "b_tool_0"),
            {"hook_event_name": "Stop", "session_id": 5},
        ],
        [
            "1 warning line-wrong-type: Expected a string or null, found `5` - at $.cwd",
            "2 warning line-wrong-type: Expected a string or an array or null, found `5` - at $.content",
            "4 warning line-wrong-type: Expected a string or null, found `5` - at $.cwd",
            "6 warning line-wrong-type: Expected a string, found `5` - at $.session_id",
        ],
        [today("user", 1, cwd="/tea")],
    ),
    Case(
        "line-missing-field",
        [{"type": "mode"}, today("user", 1, message={"content": [{"type": "text"}]})],
        [
            "1 warning line-missing-field: Expected field `mode`, found nothing",
            "2 warning line-missing-field: Expected field `text`, found nothing - at $.message.content[0]",
        ],
        [{"type": "mode", "mode": "plan"}],
    ),
]
