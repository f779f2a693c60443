"""Usage and cost the slow and obvious way: plain JSON, plain loops, and prices copied out by hand."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import turnlog

COUNTS = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h", "web_searches")

# Dollars per million: input, output, cache read, 5-minute write, 1-hour write. Then the same above 200,000.
OPUS_OLD = ("15", "75", "1.5", "18.75", "30")
OPUS = ("5", "25", "0.5", "6.25", "10")
OPUS_LONG = ("10", "37.5", "1", "12.5", "20")
SONNET = ("3", "15", "0.3", "3.75", "6")
SONNET_LONG = ("6", "22.5", "0.6", "7.5", "12")
HAIKU = ("1", "5", "0.1", "1.25", "2")
FABLE = ("10", "50", "1", "12.5", "20")
FLAT_SINCE = "2026-03-13"


def rates(model: str, day: str, prompt: int) -> tuple[str, ...] | None:
    """Return the prices of a model, as Anthropic's pages say them."""
    early = day < FLAT_SINCE
    table: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
        "claude-sonnet-4-5": (SONNET, SONNET_LONG),
        "claude-sonnet-4-6": (SONNET, SONNET_LONG if early else SONNET),
        "claude-sonnet-4-2025": (SONNET, SONNET),
        "claude-opus-4-1": (OPUS_OLD, OPUS_OLD),
        "claude-opus-4-2025": (OPUS_OLD, OPUS_OLD),
        "claude-opus-4-5": (OPUS, OPUS),
        "claude-opus-4-6": (OPUS, OPUS_LONG if early else OPUS),
        "claude-opus-4-7": (OPUS, OPUS),
        "claude-opus-4-8": (OPUS, OPUS),
        "claude-opus-5": (OPUS, OPUS),
        "claude-haiku-4-5": (HAIKU, HAIKU),
        "claude-fable-5": (FABLE, FABLE),
    }
    for start, (short, long) in table.items():
        if model.startswith(start):
            return long if prompt > 200_000 else short
    return None


def cost(message: dict[str, Any]) -> Fraction | None:
    """Return what a message of `messages` cost."""
    used = message["used"]
    prompt = used["input"] + used["cache_read"] + used["cache_write_5m"] + used["cache_write_1h"]
    prices = rates(message["model"] or "", message["time"][:10], prompt)
    if prices is None:
        return None
    total = Fraction(10, 1000) * int(used["web_searches"])
    for price, name in zip(prices, COUNTS[:5], strict=True):
        total += Fraction(price) * int(used[name]) / 1_000_000
    return total


def messages(found: Iterable[tuple[str, int, dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    """Return each message of (source, place, line) with its count, owner and completeness."""
    groups: dict[str, list[tuple[str, int, dict[str, Any]]]] = defaultdict(list)
    for source, place, line in found:
        message = line["message"] if line.get("type") == "assistant" else {}
        if isinstance(message.get("usage"), dict) and message.get("model") != "<synthetic>":
            groups[message.get("id") or f"uuid:{line['uuid']}"].append((source, place, line))
    return {key: _message(group) for key, group in groups.items()}


def _message(group: list[tuple[str, int, dict[str, Any]]]) -> dict[str, Any]:
    earliest = min(line.get("timestamp") or "9999" for _, _, line in group)
    source, _, owner = min(
        (each for each in group if (each[2].get("timestamp") or "9999") == earliest),
        key=lambda each: (each[0], each[2]["sessionId"]),
    )
    most = max(line["message"]["usage"].get("output_tokens") or 0 for _, _, line in group)
    best = [each for each in group if (each[2]["message"]["usage"].get("output_tokens") or 0) == most]
    home = (source, owner["sessionId"])
    homes = sorted({(each[0], each[2]["sessionId"]) for each in best}, key=lambda each: (each != home, each))
    _, _, line = max(
        (each for each in best if (each[0], each[2]["sessionId"]) == homes[0]), key=lambda each: each[1]
    )
    return {
        "model": line["message"].get("model"),
        "used": used(line["message"]["usage"]),
        "session": owner["sessionId"],
        "time": earliest,
        "complete": any(each["message"].get("stop_reason", "") is not None for _, _, each in group),
    }


def used(usage: dict[str, Any]) -> dict[str, int]:
    """Return the counts of a usage object."""
    writes = usage.get("cache_creation_input_tokens") or 0
    split = usage.get("cache_creation") or {}
    short, long = split.get("ephemeral_5m_input_tokens") or 0, split.get("ephemeral_1h_input_tokens") or 0
    remainder = max(0, writes - short - long)
    return {
        "input": usage.get("input_tokens") or 0,
        "output": usage.get("output_tokens") or 0,
        "cache_read": usage.get("cache_read_input_tokens") or 0,
        "cache_write_5m": short + remainder,
        "cache_write_1h": long,
        "web_searches": (usage.get("server_tool_use") or {}).get("web_search_requests") or 0,
    }


def corpus_lines(root: Path) -> list[tuple[str, int, bytes]]:
    """Return the lines of all session files, and the items of those that are arrays."""
    found: list[tuple[str, int, bytes]] = []
    for path in sorted((root / "sessions").rglob("*.json*")):
        data = path.read_bytes()
        if path.suffix == ".jsonl":
            lines = data.split(b"\n")
        else:
            whole = json.loads(data)
            lines = [json.dumps(each).encode() for each in (whole if isinstance(whole, list) else [whole])]
        found += [(str(path), place, line) for place, line in enumerate(lines) if line.strip()]
    return found


def decoded(found: Iterable[tuple[str, int, bytes]]) -> list[turnlog.Line]:
    """Return the lines as turnlog reads them."""
    return [turnlog.decode(line, at=turnlog.Position(source, place)) for source, place, line in found]


def parsed(found: Iterable[tuple[str, int, bytes]]) -> list[tuple[str, int, dict[str, Any]]]:
    """Return the lines as plain JSON, without those that are broken."""
    objects = []
    for source, place, line in found:
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            objects.append((source, place, value))
    return objects
