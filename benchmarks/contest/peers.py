"""The two published libraries that give the lines of session files a type.

Both are called at the function that makes one line typed, behind the `json.loads` that each of them uses
itself. What they skip or refuse costs them as little as it does in their own readers, so the counts belong to
the figures.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

from contest.contestants import Contestant, line_by_line, load
from contest.sessions import Corpus, Session

_REFUSALS = (ValueError, KeyError, TypeError, AttributeError)
_SLOW_ROUNDS = 3
_SDK = "claude-agent-sdk"
_LOG = "claude-code-log"

Parse = Callable[[dict[str, Any]], Any]


def peers() -> list[Contestant]:
    """Return the peers; one that is not installed says so."""
    return [_sdk_messages(), _sdk_history(), _code_log()]


def _sdk_messages() -> Contestant:
    name = f"{_SDK}: parse_message"
    parse, missing = load("claude_agent_sdk._internal.message_parser", "parse_message")
    error, _ = load("claude_agent_sdk._errors", "MessageParseError")
    if parse is None or error is None:
        return Contestant(name, _SDK, "", "", missing=missing)
    drop, keep = line_by_line(lambda: _parser(parse, (*_REFUSALS, error)))
    return Contestant(
        name,
        _SDK,
        "user, assistant and system lines as dataclasses, over dicts",
        "other lines; most of the envelope; toolUseResult (it reads the stream's tool_use_result); "
        "types of inputs and usage",
        keep,
        drop,
        lambda corpus: _count_sdk(corpus, parse, (*_REFUSALS, error)),
    )


def _sdk_history() -> Contestant:
    name = f"{_SDK}: session history"
    module = "claude_agent_sdk._internal.sessions"
    split, missing = load(module, "_parse_transcript_entries")
    build, _ = load(module, "_entries_to_session_messages")
    if split is None or build is None:
        return Contestant(name, _SDK, "", "", missing=missing)

    def read(session: Session) -> Any:
        return build(split(session.text), None, 0)

    return Contestant(
        name,
        _SDK,
        "user and assistant messages of the newest branch, in order (get_session_messages, without the file)",
        "types: a message is a dict; other lines and branches; the envelope but uuid and session",
        read,
        count=lambda corpus: {"messages returned": sum(len(read(session)) for session in corpus.sessions)},
    )


def _code_log() -> Contestant:
    name = f"{_LOG}: create_transcript_entry"
    parse, missing = load("claude_code_log.factories.transcript_factory", "create_transcript_entry")
    if parse is None:
        return Contestant(name, _LOG, "", "", missing=missing)
    drop, keep = line_by_line(lambda: _parser(parse, _REFUSALS))
    return Contestant(
        name,
        _LOG,
        "lines of seven types as pydantic models",
        "other lines keep ids and time, or are refused; undeclared fields; types of inputs",
        keep,
        drop,
        lambda corpus: _count_code_log(corpus, parse),
        max_rounds=_SLOW_ROUNDS,
    )


def _parser(parse: Parse, refusals: tuple[type[Exception], ...]) -> Callable[[bytes], object]:
    def decode(line: bytes) -> object:
        try:
            return parse(json.loads(line))
        except refusals:
            return None

    return decode


def _count_sdk(corpus: Corpus, parse: Parse, refusals: tuple[type[Exception], ...]) -> dict[str, int]:
    counts = Counter({"lines typed": 0, "lines skipped": 0, "lines refused": 0})
    for data in _objects(corpus):
        try:
            message = parse(data)
        except refusals:
            counts["lines refused"] += 1
            continue
        counts["lines skipped" if message is None else "lines typed"] += 1
        if message is not None and (blocks := _blocks(data)):
            counts["blocks kept"] += len(message.content)
            counts["blocks dropped"] += len(blocks) - len(message.content)
        if "toolUseResult" in data:
            kept = getattr(message, "tool_use_result", None) is not None
            counts["toolUseResults kept" if kept else "toolUseResults dropped"] += 1
    return dict(counts)


def _count_code_log(corpus: Corpus, parse: Parse) -> dict[str, int]:
    counts = Counter({"lines typed": 0, "lines passed through by id": 0, "lines refused": 0})
    for data in _objects(corpus):
        try:
            entry = parse(data)
        except _REFUSALS:
            counts["lines refused"] += 1
            continue
        passed = type(entry).__name__ == "PassthroughTranscriptEntry"
        counts["lines passed through by id" if passed else "lines typed"] += 1
        counts["top-level fields dropped"] += sum(key not in type(entry).model_fields for key in data)
    return dict(counts)


def _objects(corpus: Corpus) -> list[dict[str, Any]]:
    values = (json.loads(line) for session in corpus.sessions for line in session.lines)
    return [value for value in values if isinstance(value, dict)]


def _blocks(data: dict[str, Any]) -> list[Any]:
    message = data.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return content if isinstance(content, list) else []
