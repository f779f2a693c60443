"""What does an engine cost, and what does it give?

Sessions are kept in each engine that there is, in one run: what is new at first, search, windows of a
conversation, reports of usage, and how much room it takes. Times are those of one process that asks one
question after the other.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from search import draw_questions, lay_out
from turnlog.ingest.pipeline import sync
from turnlog.store.interface import MaintainedStore
from turnlog.store.model import LOCAL, StorePlace
from turnlog.store.opening import measure_store, open_store
from turnlog.store.search.language import parse_query
from turnlog.store.search.paging import SearchOrder
from turnlog.store.usage_report import Grouping, UsageQuery, build_report
from turnlog.transcripts import locate_sessions
from turnlog.transcripts.queries.threads import decode_lines

SEED = 12
WINDOWS = 200
"""How many windows of a conversation are asked for."""
WINDOW = 100
"""How many messages each has at most."""
ROUNDS = 5

Figures = dict[str, tuple[float, str]]
"""What was measured, each with its unit."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; return the exit status."""
    parser = argparse.ArgumentParser(description="Measure engines beside each other.")
    parser.add_argument("folder", type=Path, help="where *.jsonl files are")
    parser.add_argument("--copies", type=int, default=0, help="how many copies of each file there are besides")
    parser.add_argument("--questions", type=int, default=120, help="how many are asked of search")
    options = parser.parse_args(arguments)
    paths = sorted(options.folder.rglob("*.jsonl"))
    if not paths:
        print(f"no session files (*.jsonl) below {options.folder}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        questions = [text for _, text in draw_questions(paths, work)]
        chosen = random.Random(SEED).sample(questions, min(options.questions, len(questions)))
        raw = lay_out(paths, work / "home", range(options.copies + 1))
        places: dict[str, StorePlace] = {"SQLite": work / "sqlite.db"}
        print(f"\n{len(paths)} files, {raw / 1e6:.0f} MB; {len(chosen)} questions, {WINDOWS} windows")
        _print({name: _measure(place, work / "home", raw, chosen) for name, place in places.items()})
    return 0


def _measure(place: StorePlace, home: Path, raw: int, questions: Sequence[str]) -> Figures:
    with closing(open_store(place)) as store:
        seconds = _time(lambda: sync(store, place, locate_sessions([home]).sessions, origin="bench"))
        again = _time(lambda: sync(store, place, locate_sessions([home]).sessions, origin="bench"))
        figures: Figures = {
            "all for the first time": (raw / 1e6 / seconds, "MB/s"),
            "nothing is new": (again * 1000, "ms"),
            "room, of the raw bytes": (measure_store(place) / raw, ""),
            "room for a message": (measure_store(place) / _count_messages(store), "bytes"),
        }
        asked = {
            "search, newest": [_search(store, text, SearchOrder.NEWEST) for text in questions],
            "search, relevance": [_search(store, text, SearchOrder.RELEVANCE) for text in questions],
            "a window, read": list(_read_windows(store)),
        }
        for what, times in asked.items():
            figures[f"{what}, p50"] = statistics.median(times), "ms"
            figures[f"{what}, p95"] = statistics.quantiles(times, n=20)[-1], "ms"
        for by in (Grouping.DAILY, Grouping.SESSION, Grouping.TOOL):
            figures[f"usage by {by}"] = min(_report(store, by) for _ in range(ROUNDS)), "ms"
    return figures


def _count_messages(store: MaintainedStore) -> int:
    """Return how many messages there are, in transcripts and in files of agents."""
    count = 0
    for known in store.list_known(LOCAL):
        with store.open_session(LOCAL, known.key) as session:
            count += sum(chapter.count_messages for chapter in session.chapters)
    return count


def _search(store: MaintainedStore, text: str, order: SearchOrder) -> float:
    query = parse_query(text)
    return _time(lambda: store.search(LOCAL, query, order=order)) * 1000


def _report(store: MaintainedStore, by: Grouping) -> float:
    query = UsageQuery(zone=UTC, now=datetime.now(UTC), by=by)
    return _time(lambda: build_report(store.read_usage(LOCAL), query)) * 1000


def _read_windows(store: MaintainedStore) -> Iterator[float]:
    """Yield how long it took to read some messages of any session, and their lines."""
    choice = random.Random(SEED)
    sizes = [(known.key, _count_main(store, known.key)) for known in store.list_known(LOCAL)]
    for _ in range(WINDOWS):
        key, size = choice.choice(sizes)
        first = choice.randrange(max(size - WINDOW, 1))
        start = time.perf_counter()
        with store.open_session(LOCAL, key) as session:
            if session.main is not None:
                messages = session.main.list_after(first, WINDOW)
                decode_lines(session.main, (message.lines[0] for message in messages))
        yield (time.perf_counter() - start) * 1000


def _count_main(store: MaintainedStore, key: str) -> int:
    with store.open_session(LOCAL, key) as session:
        return 0 if session.main is None else session.main.count_messages


def _time(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _print(engines: Mapping[str, Figures]) -> None:
    first, *others = engines
    heads = "".join(f"{name:>12}{'times':>8}" for name in others)
    print(f"  {'':<26}{first:>12}{heads}")
    for what, (value, unit) in engines[first].items():
        cells = "".join(
            f"{engines[name][what][0]:>12.2f}{engines[name][what][0] / value:>8.1f}" for name in others
        )
        print(f"  {what:<26}{value:>12.2f}{cells}  {unit}")


if __name__ == "__main__":
    raise SystemExit(main())
