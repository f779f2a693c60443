"""Entries of a session as the Agent SDK hands them on, and the lines that they are kept as."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, field

Entry = dict[str, Any]

METADATA = "agent_metadata"
"""The type of entries in which the SDK hands on what lies beside a sub-agent's lines in its `.meta.json`."""
REMARKS = ".metadata"
"""How the file's name ends that has all of these entries, each with where it came among the lines."""

_decode = json.JSONDecoder().raw_decode


def encode_entry(entry: Mapping[str, Any]) -> bytes:
    """Return an entry as Claude Code writes it, with its newline."""
    try:
        return json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    except UnicodeEncodeError:  # half of a character
        return json.dumps(entry, separators=(",", ":")).encode() + b"\n"


def decode_entries(data: bytes) -> list[Entry]:
    """Return the entries that lines are; what is no object is left out, two on one line are two."""
    return [entry for line in data.split(b"\n") if line.strip() for entry in _decode_line(line)]


def _decode_line(line: bytes) -> Iterator[Entry]:
    text = line.decode("utf-8", "replace").strip()
    at = 0
    while at < len(text):
        try:
            value, at = _decode(text, at)
        except (ValueError, RecursionError):
            return
        while at < len(text) and text[at].isspace():
            at += 1
        if isinstance(value, dict):
            yield value


def id_of(entry: Mapping[str, Any]) -> str | None:
    """Return what an entry is known by; None for those that have no id."""
    uuid = entry.get("uuid")
    return uuid if isinstance(uuid, str) and uuid else None


class Seen(Struct):
    """What a file had when it was last written to."""

    size: int
    lines: int = 0
    ids: set[str] = field(default_factory=set)

    def choose(self, entries: Iterable[Entry], *, apart: bool) -> tuple[list[Entry], list[Entry]]:
        """Return the entries that are new by their ids, and those that are kept `apart`, with their places."""
        new: list[Entry] = []
        remarks: list[Entry] = []
        for entry in entries:
            identity = id_of(entry)
            if apart and entry.get("type") == METADATA:
                remarks.append({"at": self.lines, "entry": entry})
            elif identity is None or identity not in self.ids:
                new.append(entry)
                self.lines += 1
                self.ids |= set() if identity is None else {identity}
        return new, remarks


def add_missing(entries: Sequence[Entry], others: Iterable[Entry]) -> list[Entry]:
    """Return entries, and among them by time those of others that have an id which none of them has."""
    known = {id_of(entry) for entry in entries} | {None}
    missing = [entry for entry in others if id_of(entry) not in known]
    merged: list[Entry] = []
    for entry in entries:
        while missing and _time_of(missing[0]) < _time_of(entry):
            merged.append(missing.pop(0))
        merged.append(entry)
    return [*merged, *missing]


def _time_of(entry: Mapping[str, Any]) -> str:
    """Return when an entry was written; what does not say so stays where it is."""
    time = entry.get("timestamp")
    return time if isinstance(time, str) else ""


def insert_remarks(entries: Sequence[Entry], remarks: Iterable[Entry]) -> list[Entry]:
    """Return entries with those that were kept apart, where they came among them."""
    merged = [*entries]
    for number, remark in enumerate(remarks):
        at, entry = remark.get("at"), remark.get("entry")
        if isinstance(at, int) and isinstance(entry, dict):
            merged.insert(at + number, entry)
    return merged
