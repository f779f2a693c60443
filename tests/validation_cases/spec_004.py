"""Spec 004."""

from __future__ import annotations

from typing import Any

from validation_cases.base import Case, without
from validation_cases.spec_000 import today


def new(type_: str, number: int, content: Any = "tea", **more: Any) -> dict[str, Any]:
    """Return a line of spec 004 that follows the one with the number before."""
    parent = f"h-{number - 1}" if number > 1 else None
    line = {"uuid": f"h-{number}", "parentUuid": parent, "sessionId": "s-1", "type": type_}
    told = {"timestamp": 1738573200000 + number, "version": "1.0.128"}
    return {**line, **told, "message": {"type": "message", "content": content}, **more}


def image(media_type: str = "image/png", data: str = "AAAA") -> dict[str, Any]:
    """Return an image block."""
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}


_CALL = {"type": "tool_use", "id": "t-1", "name": "Read", "input": {"file_path": "/tea"}}
_RESULT = {"type": "tool_result", "tool_use_id": "t-1", "content": "green", "is_error": False}
_SEARCH = {"type": "server_tool_use", "id": "t-2", "name": "web_search", "input": {"query": "tea"}}
_FOUND = {"type": "web_search_tool_result", "tool_use_id": "t-2", "content": []}
_TYPES = "`image/png`, `image/jpeg`, `image/gif` or `image/webp`"

CASES = [
    Case(
        "004-1-required-fields",
        [
            without(new("human", 1), "parentUuid"),
            without(new("human", 2), "uuid", "sessionId"),
            without(new("human", 2), "timestamp"),
            without(new("human", 3), "message"),
        ],
        [
            "1 error 004-1-required-fields: Expected `parentUuid`, found nothing",
            "2 error 004-1-required-fields: Expected `uuid` and `sessionId`, found nothing",
            "3 error 004-1-required-fields: Expected `timestamp`, found nothing",
            "4 error 004-1-required-fields: Expected field `message`, found nothing",
        ],
        [new("human", 1), new("human", 2)],
    ),
    Case(
        "004-2-unique-uuid",
        [new("human", 1), new("human", 1)],
        ["2 error 004-2-unique-uuid: Expected an unused uuid, found `h-1`, which line 1 uses - at $.uuid"],
        [new("human", 1), new("human", 1, sessionId="s-2")],
    ),
    Case(
        "004-3-parents",
        [new("human", 1, parentUuid="h-9"), new("human", 2, parentUuid="h-3"), new("human", 3)],
        [
            "1 error 004-3-parents: Expected a parent in the same session, found `h-9`, which is on no line "
            "- at $.parentUuid",
            "2 error 004-3-parents: Expected parents that lead to a root, found a cycle through this line "
            "- at $.parentUuid",
        ],
        [new("human", 1), new("human", 2), new("human", 3)],
    ),
    Case(
        "004-3-parents",
        [new("human", 1, sessionId="s-0"), new("human", 2)],
        [
            "2 error 004-3-parents: Expected a parent in the same session, found `h-1` of session `s-0` "
            "- at $.parentUuid"
        ],
    ),
    Case(
        "004-4-tool-correlation",
        [
            new("tool_result", 1, [_RESULT]),
            new("assistant", 2, [_CALL]),
            new("tool_result", 3, [{**_RESULT, "tool_use_id": "t-9"}]),
            new("tool_result", 4, [without(_RESULT, "tool_use_id")]),
            new("tool_result", 5, "green"),
            new("tool_result", 6, [{**_RESULT, "tool_use_id": 1}]),
        ],
        [
            "1 error 004-4-tool-correlation: Expected the call before its result, found it on line 2 "
            "- at $.message.content[0]",
            "3 error 004-4-tool-correlation: Expected the id of a call, found `t-9`, which no call has "
            "- at $.message.content[0].tool_use_id",
            "4 error 004-4-tool-correlation: Expected `tool_use_id` in a `tool_result`, found nothing "
            "- at $.message.content[0]",
            "5 error 004-4-tool-correlation: Expected a `tool_result` with a `tool_use_id`, found none "
            "- at $.message",
            "6 error 004-6-content: Expected a string, found `1` - at $.message.content[0].tool_use_id",
        ],
        [new("human", 1), new("assistant", 2, [_CALL]), new("tool_result", 3, [_RESULT])],
    ),
    Case(
        "004-4-tool-correlation",
        [
            today("user", 1, message={"content": [_RESULT]}),
            today("assistant", 2, message={"content": [_CALL]}),
            today("user", 3, message={"content": [{**_RESULT, "tool_use_id": "t-9"}]}),
        ],
        [
            "1 note 004-4-tool-correlation: Expected the call before its result, found it on line 2 "
            "- at $.message.content[0]",
            "3 note 004-4-tool-correlation: Expected the id of a call, found `t-9`, which no call has "
            "- at $.message.content[0].tool_use_id",
        ],
        [
            today("user", 1),
            today("assistant", 2, message={"content": [_CALL]}),
            today("user", 3, message={"content": [_RESULT]}),
            today("assistant", 4, message={"content": [_SEARCH, _FOUND]}),
        ],
    ),
    Case(
        "004-5-sidechain-marker",
        [new("human", 1, isSidechain=True), new("assistant", 2), new("human", 3)],
        [
            "2 error 004-5-sidechain-marker: Expected `isSidechain: true` as in its parent on line 1, "
            "found nothing"
        ],
        [
            new("assistant", 1, [_CALL]),
            new("human", 2, isSidechain=True, userType="external"),
            new("assistant", 3, isSidechain=True),
            new("tool_result", 4, [_RESULT]),
        ],
    ),
    Case(
        "004-6-content",
        [
            new("human", 1, 5),
            new("human", 2, None),
            new("human", 3, message={"type": "message"}),
            new("assistant", 4, [{"text": "tea"}, {"type": "text"}, {"type": "text", "text": 1}]),
            new("assistant", 5, [{"type": "tool_use", "name": "Read"}]),
            new("assistant", 6, [{**_CALL, "id": 1}]),
        ],
        [
            "1 error 004-6-content: Expected a string or an array or null, found `5` - at $.message.content",
            "2 error 004-6-content: Expected a string or an array, found null - at $.message.content",
            "3 error 004-6-content: Expected a string or an array, found nothing - at $.message.content",
            "4 error 004-6-content: Expected a known `type`, found nothing - at $.message.content[0]",
            "4 error 004-6-content: Expected field `text`, found nothing - at $.message.content[1]",
            "4 error 004-6-content: Expected a string, found `1` - at $.message.content[2].text",
            "5 note 003-C3-paired: Expected a result for the call of `Read`, found none "
            "- at $.message.content[0]",
            "5 error 004-6-content: Expected `id` and `input` in a `tool_use`, found nothing "
            "- at $.message.content[0]",
            "6 note 003-C3-paired: Expected a result for the call of `Read`, found none "
            "- at $.message.content[0]",
            "6 error 004-6-content: Expected a string, found `1` - at $.message.content[0].id",
        ],
        [
            new("human", 1, "tea"),
            new("assistant", 2, [{"type": "text", "text": "tea"}, _CALL]),
            new("tool_result", 3, [_RESULT]),
        ],
    ),
    Case(
        "004-7-image-encoding",
        [
            new("human", 1, [image("image/bmp"), image(data="A*"), image(data="")]),
            new("assistant", 2, [_CALL]),
            new("tool_result", 3, [{**_RESULT, "content": [image("text/plain")]}]),
            new(
                "human", 4, [{"type": "image", "source": {"type": "url", "url": "https://example.com/tea.png"}}]
            ),
            new("human", 5, [{"type": "image", "source": {"type": "base64", "data": "AAAA"}}]),
        ],
        [
            f"1 error 004-7-image-encoding: Expected one of {_TYPES}, found `image/bmp` "
            "- at $.message.content[0].source.media_type",
            "1 error 004-7-image-encoding: Expected base64, found other text "
            "(Only base64 data is allowed) - at $.message.content[1].source.data",
            "1 error 004-7-image-encoding: Expected base64, found nothing "
            "- at $.message.content[2].source.data",
            f"3 error 004-7-image-encoding: Expected one of {_TYPES}, found `text/plain` "
            "- at $.message.content[0].content[0].source.media_type",
            "4 error 004-7-image-encoding: Expected a `base64` source, found `url` "
            "- at $.message.content[0].source",
            f"5 error 004-7-image-encoding: Expected one of {_TYPES}, found nothing "
            "- at $.message.content[0].source.media_type",
        ],
        [new("human", 1, [image("image/webp"), image("image/gif", "AA==")])],
    ),
    Case(
        "004-7-image-encoding",
        [today("user", 1, message={"content": [image(data="A")]})],
        [
            "1 warning 004-7-image-encoding: Expected base64, "
            "found other text (Invalid base64-encoded "
            "string: number of data characters (1) cannot be 1 more than a multiple of 4) "
            "- at $.message.content[0].source.data"
        ],
        [
            today(
                "user",
                1,
                message={
                    "content": [{"type": "image", "source": {"type": "url", "url": "https://example.com"}}]
                },
            )
        ],
    ),
    Case(
        "004-F1-field-types",
        [
            new("human", 1, timestamp="2025-02-03T09:00:00Z"),
            new("human", 2, isSidechain="yes"),
            new("human", 3, timestamp=1e300),
            new("human", 4, version=5),
        ],
        [
            "1 error 004-F1-field-types: Expected Unix milliseconds, found `2025-02-03T09:00:00Z` "
            "- at $.timestamp",
            "2 error 004-F1-field-types: Expected true or false or null, found a string - at $.isSidechain",
            "3 error 004-F1-field-types: Expected Unix milliseconds, found `1e+300` - at $.timestamp",
            "4 error 004-F1-field-types: Expected a string or null, found `5` - at $.version",
        ],
        [new("human", 1), new("human", 2, isSidechain=False), new("human", 3, timestamp=1738573200000.5)],
    ),
    Case(
        "004-F2-version",
        [without(new("human", 1), "version"), without(new("compact_prelude", 2), "version")],
        ["1 note 004-F2-version: Expected `version`, found nothing"],
        [new("human", 1), new("compact_recap", 2)],
    ),
]
