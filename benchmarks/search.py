"""How fast is a million messages searched, and what does the index take?

Real sessions are copied until there are enough: each copy at other times, with other ids and hashes, and a
word of its own in every text, so that no text is the same twice. What no search reads is left out: display
copies of results, images, counts of tokens, signatures, progress. That is half of the bytes; the texts, 2.4 KB
for each message, are all there. They are synced as anybody's sessions are.

What is asked is a fixed mix: the commonest words and rare ones, phrases, beginnings, code, fragments, Chinese
and Japanese, filters; most of it drawn from the texts, always the same for the same sessions. Each question is
asked once, in one process; the time is that until the first page. A missed goal is a finding, not a failure:
the exit status is 0 whenever something was measured.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import apsw

from turnlog.ingest.pipeline import sync
from turnlog.store.interface import Store
from turnlog.store.model import LOCAL
from turnlog.store.opening import open_store
from turnlog.store.search.language import parse_query
from turnlog.store.search.paging import SearchOrder
from turnlog.testing.checks import Scan
from turnlog.transcripts import locate_sessions

GOAL_P95 = 100.0
"""Milliseconds until the first page."""
MESSAGES = 1_000_000
SEED = 11
EACH = 25
"""How many questions of a kind are drawn."""
COMMON = ("the", "to", "a", "and", "in", "of", "is", "if", "1", "file", "error", "import", "return", "test")
TABLES = ("cells", "new_cells", "text_runs", "vocabulary", "search_state")

_PROJECTS = 20
_TRIED = 8
"""How many copies tell how many messages a copy has."""
_AT_ONCE = 32
"""How many copies of a file are written for each time that it is read."""
_UNSEARCHED = ("toolUseResult", "usage", "signature")
"""Display copies of results, counts of tokens, and what is for machines."""
_VARIED = re.compile(
    rb'((?<="timestamp":")\d{4}-\d\d-\d\d'
    rb"|\b(?=[0-9]*[a-f])[0-9a-f]{4}(?=[0-9a-f]{4}\b)"  # how UUIDs and short hashes begin
    rb"|(?<=\bmsg_)01|(?<=\btoolu_)01|(?<=\breq_)01"
    rb'|(?<="text":")|(?<="content":")|(?<="command":")|(?<="thinking":"))'
)
_WORD = re.compile(r"[^\W_]+")
_CODE = re.compile(r"\w[^\w\s]+\w")
_FOREIGN = re.compile("[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7a3]{2}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; return the exit status."""
    parser = argparse.ArgumentParser(description="Measure search.")
    parser.add_argument("folder", type=Path, help="where *.jsonl files are")
    parser.add_argument("--messages", type=int, default=MESSAGES)
    parser.add_argument("--keep", type=Path, help="where the archive stays; one that is there is used again")
    options = parser.parse_args(arguments)
    paths = sorted(options.folder.rglob("*.jsonl"))
    if not paths:
        print(f"no session files (*.jsonl) below {options.folder}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        place = options.keep or work / "search.db"
        questions = list(draw_questions(paths, work))
        if not place.exists():
            build(paths, place, work, options.messages)
        _print_sizes(place)
        with closing(open_store(place, read_only=True)) as store:
            _print_times(store, questions)
    return 0


def build(paths: list[Path], place: Path, work: Path, messages: int) -> int:
    """Fill an archive as anybody does, by syncing; return how many messages it has."""
    start, raw, copies, home = time.perf_counter(), 0, 0, work / "home"
    while not copies or _count(place) < messages:
        # A few copies tell how many there have to be; the others come all at once, and so on all cores.
        following = copies * messages // _count(place) + 1 if copies else _TRIED
        raw += lay_out(paths, home, range(copies, following))
        with closing(open_store(place)) as store:
            sync(store, place, locate_sessions([home]).sessions, origin="bench")
        shutil.rmtree(home)
        copies = following
    seconds = time.perf_counter() - start
    print(f"\n{_count(place):,} messages, {copies} copies of {len(paths)} files, {raw / 1e9:.1f} GB")
    print(f"  made in {seconds:.0f} s ({raw / 1e6 / seconds:.0f} MB/s): laid out, archived and indexed")
    return _count(place)


def lay_out(paths: Sequence[Path], home: Path, copies: Sequence[int]) -> int:
    """Write copies of all sessions into a folder as Claude Code has it, and return how many bytes they have."""
    for number in range(_PROJECTS):
        (home / "projects" / f"-home-ada-p{number}").mkdir(parents=True, exist_ok=True)
    starts = range(0, len(copies), _AT_ONCE)
    tasks = [
        (path, number, home, copies[at : at + _AT_ONCE]) for number, path in enumerate(paths) for at in starts
    ]
    with ProcessPoolExecutor() as pool:
        return sum(pool.map(_write, *zip(*tasks, strict=True)))


def _write(path: Path, number: int, home: Path, copies: Sequence[int]) -> int:
    """Write copies of a session, each at another time, with other ids and a word of its own in each text."""
    pieces = _VARIED.split(b"".join(map(_trim, path.read_bytes().splitlines(keepends=True))))
    size = 0
    for copy in copies:
        new = {piece: _vary(piece, copy) for piece in set(pieces[1::2])}
        file = f"{copy:04x}{number:04x}-0000-4000-8000-{number:012x}.jsonl"
        varied = [piece if at % 2 == 0 else new[piece] for at, piece in enumerate(pieces)]
        size += (home / "projects" / f"-home-ada-p{number % _PROJECTS}" / file).write_bytes(b"".join(varied))
    return size


def _trim(line: bytes) -> bytes:
    """Return what of a line is searched, and what says where that stands."""
    try:
        value = json.loads(line, object_hook=_drop)
        is_searched = not isinstance(value, dict) or value.get("type") != "progress"
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return f"{text}\n".encode() if is_searched else b""
    except ValueError:  # no JSON, or half a character
        return line


def _drop(value: dict[str, Any]) -> dict[str, Any]:
    for name in _UNSEARCHED:
        value.pop(name, None)
    if value.get("type") == "base64":
        value["data"] = ""
    return value


def _vary(piece: bytes, copy: int) -> bytes:
    """Return what stands in a copy where a session has an id, a date, or the beginning of a text."""
    if copy == 0:
        return piece
    if not piece:
        return b"copy%d " % copy
    if b"-" in piece:
        return (date.fromisoformat(piece.decode()) - timedelta(days=copy)).isoformat().encode()
    return b"%0*x" % (len(piece), (int(piece, 16) ^ copy) % 16 ** len(piece))


def draw_questions(paths: list[Path], work: Path) -> Iterator[tuple[str, str]]:
    """Yield questions with their kinds, drawn from the sessions as they are."""
    place = work / "drawn.db"
    with closing(open_store(place)) as store:
        lay_out(paths, work / "home", range(1))
        sync(store, place, locate_sessions([work / "home"]).sessions, origin="bench")
        shutil.rmtree(work / "home")
        texts = Scan(store, LOCAL).texts
    choice = random.Random(SEED)
    words = [word for text in texts for word in _WORD.findall(text)[:50] if not word.isdigit()]
    counts = Counter(words)
    rare = sorted(word for word, count in counts.items() if count == 1 and 4 < len(word) < 24)
    yield from (("common word", word) for word in COMMON)
    makers: dict[str, Callable[[], str]] = {
        "word": lambda: choice.choice(words),
        "rare word": lambda: choice.choice(rare),
        "two words": lambda: f"{choice.choice(words)} {choice.choice(words)}",
        "phrase": lambda: _find_phrase(choice, texts),
        "prefix": lambda: choice.choice(words)[: choice.randint(1, 5)] + "*",
        "code": lambda: _find_code(choice, texts),
        "fragment": lambda: _find_fragment(choice, words),
        "CJK": lambda: _find_foreign(choice, texts),
        "filters": lambda: choice.choice(_FILTERS).format(choice.choice(words)),
    }
    for kind, make in makers.items():
        for _ in range(EACH):
            text = make()
            if text:
                yield kind, text


_FILTERS = (
    "tool:Bash {}",
    "is:error {}",
    "kind:prompt {}",
    "role:assistant {}",
    "after:2026-01-01 {}",
    "project:p1 {}",
    "tool:Bash is:error",
    "kind:title",
    "file:.py {}",
)


def _find_phrase(choice: random.Random, texts: list[str]) -> str:
    text = choice.choice(texts)
    found = list(_WORD.finditer(text))
    if len(found) < 3:
        return ""
    first = choice.randrange(len(found) - 2)
    return _quote(text[found[first].start() : found[first + 2].end()])


def _find_code(choice: random.Random, texts: list[str]) -> str:
    pieces = choice.choice(texts).split()
    found = [piece for piece in pieces if len(piece) < 60 and _CODE.search(piece)]
    return _quote(choice.choice(found)) if found else ""


def _find_fragment(choice: random.Random, words: list[str]) -> str:
    word = choice.choice(words)
    start = choice.randrange(len(word))
    piece = word[start : start + 6]
    return f"*{piece}*" if len(piece) > 2 else ""


def _find_foreign(choice: random.Random, texts: list[str]) -> str:
    found = [match[0] for text in texts for match in _FOREIGN.finditer(text)]
    return choice.choice(found) if found else ""


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _print_sizes(place: Path) -> None:
    with closing(apsw.Connection(str(place), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        sizes = dict(connection.execute("SELECT name, sum(pgsize) FROM dbstat GROUP BY name"))
        [(raw,)] = connection.execute("SELECT sum(length) FROM generations")
        [(cells,)] = connection.execute("SELECT count(*) FROM cells_docsize")
    index = sum(int(size) for name, size in sizes.items() if str(name).startswith(TABLES))
    whole = sum(int(size) for size in sizes.values())
    print(
        f"  index: {index / 1e6:.0f} MB, {index / raw:.3f} of the raw bytes ({cells:,} cells); "
        f"database: {whole / 1e6:.0f} MB, {whole / raw:.2f}"
    )


def _print_times(store: Store, questions: list[tuple[str, str]]) -> None:
    store.search(LOCAL, parse_query("warm"))
    taken: dict[str, list[float]] = {}
    slowest: list[tuple[float, str]] = []
    for kind, text in questions:
        seconds, hits = _ask(store, text, SearchOrder.NEWEST)
        taken.setdefault(kind, []).append(seconds)
        slowest.append((seconds, f"{kind} {text[:60]!r} ({hits} hits)"))
    for kind, times in taken.items():
        print(f"  {kind:<14}{len(times):4} questions  {_describe(times)}")
    every = [each for times in taken.values() for each in times]
    p95 = statistics.quantiles(every, n=20)[-1]
    verdict = "reached" if p95 <= GOAL_P95 else f"missed by {p95 - GOAL_P95:.0f} ms"
    print(f"  all           {len(every):4} questions  {_describe(every)} (goal {GOAL_P95:.0f} ms): {verdict}")
    for seconds, what in sorted(slowest, reverse=True)[:5]:
        print(f"    slowest: {seconds:7.1f} ms  {what}")
    ranked = [_ask(store, text, SearchOrder.RELEVANCE)[0] for kind, text in questions if kind == "word"]
    print(f"  by relevance  {len(ranked):4} questions  {_describe(ranked)}")


def clock(store: Store, questions: list[tuple[str, str]]) -> list[float]:
    """Return how many milliseconds each question took, until its first page."""
    store.search(LOCAL, parse_query("warm"))
    return [_ask(store, text, SearchOrder.NEWEST)[0] for _, text in questions]


def _ask(store: Store, text: str, order: SearchOrder) -> tuple[float, int]:
    query = parse_query(text)
    start = time.perf_counter()
    page = store.search(LOCAL, query, order=order)
    return (time.perf_counter() - start) * 1000, len(page.hits)


def _describe(times: list[float]) -> str:
    if len(times) < 2:
        return f"{times[0]:.1f} ms"
    return f"p50 {statistics.median(times):6.1f} ms, p95 {statistics.quantiles(times, n=20)[-1]:6.1f} ms"


def _count(place: Path) -> int:
    """Return how many prompts, answers and results there are."""
    with closing(apsw.Connection(str(place), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        [(count,)] = connection.execute("SELECT coalesce(sum(messages), 0) FROM segments")
        return int(count)


if __name__ == "__main__":
    raise SystemExit(main())
