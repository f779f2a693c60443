"""What is measured: each contestant is a way to go through the lines of one session file.

Two ways count. *Dropped* throws each result away at once; *kept* holds all results of a file until it is done,
as a reader of sessions does, and so pays for what the garbage collector makes of them.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import msgspec

import turnlog
from contest.sessions import Corpus, Session
from turnlog.messages.codec import decode_envelope

sys.path.append(str(Path(__file__).parents[2] / "tests"))
from all_views import tool_names, view_all

BLOCKS = "turnlog: messages and blocks"
"""The row that the goals are about."""

LineDecoder = Callable[[bytes], object]
Pass = Callable[[Session], object]


@dataclass(frozen=True, slots=True)
class Contestant:
    """A row of the table. One without `kept` is not installed."""

    name: str
    package: str
    does: str
    lacks: str
    kept: Pass | None = None
    dropped: Pass | None = None
    """None for a reader that only takes whole files."""
    count: Callable[[Corpus], dict[str, int]] | None = None
    """Says what became of the lines; never timed."""
    max_rounds: int | None = None
    """A slow contestant runs in fewer rounds."""
    missing: str = ""
    """Why it is not installed."""

    @property
    def version(self) -> str:
        """The version of its package."""
        try:
            return version(self.package)
        except PackageNotFoundError:
            return "not installed"


def line_by_line(start: Callable[[], LineDecoder]) -> tuple[Pass, Pass]:
    """Return the dropped and the kept pass of a decoder of lines. `start` makes one for each file."""

    def drop(session: Session) -> None:
        decode = start()
        for line in session.lines:
            decode(line)

    def keep(session: Session) -> object:
        decode = start()
        return [decode(line) for line in session.lines]

    return drop, keep


def load(module: str, name: str) -> tuple[Any, str]:
    """Return a function of a package that may not be installed, or None and why there is none."""
    try:
        return getattr(importlib.import_module(module), name), ""
    except (ImportError, AttributeError) as error:
        return None, str(error)


def list_parsers() -> list[LineDecoder]:
    """Return the JSON parsers below all contestants, as far as they are installed."""
    orjson_loads, _ = load("orjson", "loads")
    return [parse for parse in (json.loads, msgspec.json.decode, orjson_loads) if parse is not None]


def base_contestants() -> list[Contestant]:
    """Return the two that everything is compared with: JSON to dicts, without any types."""
    drop, keep = line_by_line(lambda: json.loads)
    lacks = "no types"
    rows = [Contestant("json", "python", "dicts of everything", lacks, keep, drop)]
    loads, missing = load("orjson", "loads")
    if loads is None:
        return [*rows, Contestant("orjson", "orjson", "", "", missing=missing)]
    drop, keep = line_by_line(lambda: loads)
    return [*rows, Contestant("orjson", "orjson", "dicts of everything", lacks, keep, drop)]


def turnlog_rows() -> list[Contestant]:
    """Return turnlog at three depths."""
    head_drop, head_keep = line_by_line(lambda: decode_envelope)
    drop, keep = line_by_line(lambda: turnlog.decode)
    all_drop, all_keep = line_by_line(_start_forced)
    return [
        Contestant(
            "turnlog: envelope only",
            "turnlog",
            "type and envelope of every line, typed",
            "what the line says is skipped",
            head_keep,
            head_drop,
        ),
        Contestant(
            BLOCKS,
            "turnlog",
            "every line typed: messages, blocks, usage, attachments, metadata; unknown fields are found",
            "tool inputs and toolUseResult are skipped over, and stay bytes until asked for",
            keep,
            drop,
            _count_lines,
        ),
        Contestant(
            "turnlog: everything forced",
            "turnlog",
            "the same, and every tool input and toolUseResult as its tool's type",
            "values of free-form objects stay bytes",
            all_keep,
            all_drop,
            _count_views,
        ),
    ]


def _start_forced() -> LineDecoder:
    names: dict[str, str] = {}

    def decode_all(line: bytes) -> object:
        found = turnlog.decode(line)
        names.update(tool_names((found.entry,)))
        return found, list(view_all(found.entry, names))

    return decode_all


def _count_lines(corpus: Corpus) -> dict[str, int]:
    found = [turnlog.decode(line) for session in corpus.sessions for line in session.lines]
    clean = sum(not line.problems for line in found)
    unknown = sum(isinstance(line.entry, turnlog.UnknownEntry) for line in found)
    return {
        "lines typed without a problem": clean,
        "lines with a problem": len(found) - clean,
        "lines of unknown type": unknown,
    }


def _count_views(corpus: Corpus) -> dict[str, int]:
    clean = unclean = 0
    for session in corpus.sessions:
        entries = [turnlog.decode(line).entry for line in session.lines]
        names = tool_names(entries)
        for view in (view for entry in entries for view in view_all(entry, names)):
            clean += not view.problems
            unclean += bool(view.problems)
    return {"views without a problem": clean, "views with a problem": unclean}
