"""What turnlog answers, recorded: `make answers` asks again, and fails for every unexplained difference.

`data/answers/demo.json.zst` has the answers about the sample sessions in full, `data/answers/corpus.json` has
digests of those about the corpus. What all engines answer alike is there once; otherwise the name of the engine
comes first.

`data/answers/differences.json` lists intended differences: `about` (`demo` or `corpus`), `answer`, the digests
`old` and `new` (null if there was no such answer, or is none now), and `reason`. Without the name of an engine,
an entry holds for all of them. An entry for what does not differ, or not in this way, is a failure, too. An
engine that this version does not have is not compared, and what was recorded of it stays.
"""

from __future__ import annotations

import argparse
import difflib
import json
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Literal

import msgspec
import zstandard
from msgspec import Struct

from asked_archive import ENGINES, INDEXES, JSON, Answers, ask_about_corpus, ask_about_demo, find_engines
from golden import DATA

RECORDED = DATA / "answers"
DEMO = RECORDED / "demo.json.zst"
CORPUS = RECORDED / "corpus.json"
DIFFERENCES = RECORDED / "differences.json"
About = Literal["demo", "corpus"]
ABOUT: tuple[About, ...] = ("demo", "corpus")
MOST_SHOWN = 40
"""Differences that are shown; all of them are counted."""
MOST_LINES = 24
"""Lines of one difference."""
_WINDOW = 27
_DIGEST = re.compile("[0-9a-f]{16}")


class Explained(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A difference that is meant to be there."""

    about: About
    answer: str
    old: str | None
    new: str | None
    reason: str


class Difference(Struct, frozen=True, kw_only=True):
    """An answer of an engine that is not as it was recorded; answers are texts or digests of texts."""

    about: About
    engine: str
    question: str
    was: str | None
    is_now: str | None
    is_general: bool
    """Whether all engines had the same answer when it was recorded."""

    @property
    def digests(self) -> tuple[str | None, str | None]:
        return digest(self.was), digest(self.is_now)


class Compared(Struct, frozen=True):
    """What a comparison found: it passes if there is neither."""

    unexplained: list[Difference]
    stale: list[Explained]


def digest(answer: str | None) -> str | None:
    """Return what stands for an answer; that of a digest is itself."""
    if answer is None or _DIGEST.fullmatch(answer):
        return answer
    return sha256(answer.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def collect(about: About, engines: Sequence[str], corpus: Path | None = None) -> dict[str, Answers]:
    """Ask everything about the demo or the corpus, and return the answers of each engine."""
    if about == "demo":
        return {engine: ask_about_demo(engine) for engine in engines}
    assert corpus is not None
    found = {engine: ask_about_corpus(engine, corpus) for engine in engines}
    return {
        engine: {question: digest(answer) or "" for question, answer in answers.items()}
        for engine, answers in found.items()
    }


def merge(found: Mapping[str, Answers]) -> Answers:
    """Return answers by question; where engines differ, the name of the engine comes first."""
    merged: Answers = {}
    for engine, answers in found.items():
        for question, answer in answers.items():
            alike = all(each.get(question) == answer for each in found.values())
            merged[question if alike else f"{engine} {question}"] = answer
    return merged


def split(merged: Answers, engine: str) -> Answers:
    """Return the answers of one engine."""
    others = tuple(f"{each} " for each in ENGINES if each != engine)
    return {
        name.removeprefix(f"{engine} "): each for name, each in merged.items() if not name.startswith(others)
    }


def compare(
    about: About, recorded: Answers, found: Mapping[str, Answers], explained: Sequence[Explained]
) -> Compared:
    """Return what is different without a reason, and the reasons for what is not different."""
    reasons = {each.answer: each for each in explained if each.about == about}
    unexplained, used = [], set()
    for engine, answers in found.items():
        engine, is_index = INDEXES.get(engine, engine), engine in INDEXES
        before = split(recorded, engine)
        for question in sorted(answers.keys() if is_index else before.keys() | answers.keys()):
            difference = Difference(
                about=about,
                engine=engine,
                question=question,
                was=before.get(question),
                is_now=answers.get(question),
                is_general=f"{engine} {question}" not in recorded,
            )
            old, new = difference.digests
            if old == new:
                continue
            entry = reasons.get(f"{engine} {question}") or reasons.get(question)
            if entry is not None and (entry.old, entry.new) == (old, new) and entry.reason.strip():
                used.add(id(entry))
            else:
                unexplained.append(difference)
    # Of two entries for one answer, one is never used.
    absent = tuple(f"{engine} " for engine in ENGINES if engine not in found)
    checked = [each for each in explained if each.about == about and not each.answer.startswith(absent)]
    return Compared(unexplained, [each for each in checked if id(each) not in used])


def describe(compared: Compared) -> Iterator[str]:
    """Yield lines for people: each difference with its digests and, for full answers, what changed."""
    for number, each in enumerate(compared.unexplained):
        if number == MOST_SHOWN:
            yield f"… and {len(compared.unexplained) - MOST_SHOWN:,} differences more"
            break
        old, new = each.digests
        yield f"{each.about} on {each.engine}: {each.question}: {old or 'nothing'} became {new or 'nothing'}"
        yield from (f"    {line}" for line in _tell_apart(each))
    for reason in compared.stale:
        was = f"{reason.old or 'nothing'} became {reason.new or 'nothing'}"
        yield f"{reason.about}: {reason.answer}: stale entry, it is not so (any more) that {was}"


def _tell_apart(difference: Difference) -> Iterator[str]:
    was, is_now = difference.was, difference.is_now
    if was is None or is_now is None or _DIGEST.fullmatch(was):
        return
    lines = difflib.unified_diff(_spread(was), _spread(is_now), "recorded", "now", lineterm="", n=2)
    for number, line in enumerate(lines):
        if number == MOST_LINES:
            yield "…"
            return
        yield line if len(line) <= 200 else f"{line[:200]}…"


def _spread(answer: str) -> list[str]:
    """Return an answer in lines, JSON with each field on its own."""
    head, _, body = answer.partition("\n")
    if head.endswith(JSON):
        body = msgspec.json.format(body, indent=2)
    return [head, *body.split("\n")]


def explain(
    explained: Sequence[Explained], compared: Sequence[Compared], reason: str, pattern: str, engines: int
) -> list[Explained]:
    """Return the list with a reason for each difference whose question a pattern is found in.

    Stale entries for such questions are removed. What all `engines` that were compared answer alike is listed
    once.
    """
    by_question: dict[tuple[About, str], list[Difference]] = {}
    for each in (difference for found in compared for difference in found.unexplained):
        if re.search(pattern, each.question):
            by_question.setdefault((each.about, each.question), []).append(each)
    added: dict[tuple[str, str], Explained] = {}
    for (about, question), alike in by_question.items():
        is_one = len(alike) == engines and len({each.digests for each in alike}) == 1 and alike[0].is_general
        for each in alike[:1] if is_one else alike:
            name = question if is_one else f"{each.engine} {question}"
            old, new = each.digests
            added[about, name] = Explained(about=about, answer=name, old=old, new=new, reason=reason)
    stale = [each for found in compared for each in found.stale if re.search(pattern, each.answer)]
    kept = [each for each in explained if each not in stale and (each.about, each.answer) not in added]
    return sorted([*kept, *added.values()], key=lambda each: (each.about, each.answer))


def read_recorded(about: About) -> Answers:
    """Return the answers that were recorded."""
    if about == "corpus":
        return msgspec.json.decode(CORPUS.read_bytes(), type=Answers)
    data = zstandard.ZstdDecompressor(max_window_size=1 << _WINDOW).decompress(DEMO.read_bytes())
    return msgspec.json.decode(data, type=Answers)


def write_recorded(about: About, answers: Answers) -> None:
    """Record answers, in an order that is always the same."""
    RECORDED.mkdir(exist_ok=True)
    if about == "corpus":
        CORPUS.write_text(json.dumps(answers, indent=0, sort_keys=True, ensure_ascii=False) + "\n")
        return
    params = zstandard.ZstdCompressionParameters.from_level(19, window_log=_WINDOW, enable_ldm=True)
    data = json.dumps(answers, sort_keys=True).encode()
    DEMO.write_bytes(zstandard.ZstdCompressor(compression_params=params).compress(data))


def read_explained() -> list[Explained]:
    """Return the differences that are listed."""
    return msgspec.json.decode(DIFFERENCES.read_bytes(), type=list[Explained])


def write_explained(explained: Sequence[Explained]) -> None:
    """List differences, each on a line."""
    lines = ",\n".join(msgspec.json.encode(each).decode() for each in explained)
    DIFFERENCES.write_text(f"[\n{lines}\n]\n" if lines else "[]\n")


def check(about: About, engines: Sequence[str], corpus: Path | None = None) -> tuple[Compared, str]:
    """Ask everything about the demo or the corpus again; return what differs, and a sentence about it."""
    started = time.monotonic()
    found = collect(about, engines, corpus)
    compared = compare(about, read_recorded(about), found, read_explained())
    missing = [each for each in (*ENGINES, *INDEXES) if each not in find_engines()]
    told = (
        f"{about}: {sum(map(len, found.values())):,} answers on {' and '.join(engines)}, "
        f"{len(compared.unexplained):,} unexplained differences, {len(compared.stale):,} stale entries"
        + "".join(f"; {each} skipped, this version does not have it" for each in missing)
        + f" ({time.monotonic() - started:.0f} s)"
    )
    return compared, told


def main() -> int:
    """Compare, record or explain."""
    parser = argparse.ArgumentParser(description="Compare what turnlog answers with what was recorded.")
    parser.add_argument("--corpus", type=Path, help="a folder of real sessions")
    parser.add_argument("--only", choices=ABOUT, help="only what is about these sessions")
    parser.add_argument("--record", action="store_true", help="write what is answered now; nothing is compared")
    parser.add_argument("--explain", metavar="REASON", help="list differences with this reason")
    parser.add_argument(
        "--matching", metavar="REGEX", default="", help="only those whose question has this in it"
    )
    given = parser.parse_args()
    if given.explain is not None and not given.explain.strip():
        parser.error("--explain needs a reason")
    corpus = given.corpus.resolve() if given.corpus is not None and given.corpus.is_dir() else None
    wanted = [each for each in ABOUT if given.only in (None, each)]
    if corpus is None and "corpus" in wanted:
        print(f"corpus: skipped, there is none at {given.corpus}")
        wanted.remove("corpus")
    if given.record:
        if find_engines() != ENGINES:
            parser.error(f"only a version with all of {', '.join(ENGINES)} can be recorded")
        for about in wanted:
            found = collect(about, find_engines(), corpus)
            write_recorded(about, merge(found))
            print(f"{about}: recorded {sum(map(len, found.values())):,} answers")
        write_explained(
            [each for each in read_explained() if each.about not in wanted] if DIFFERENCES.exists() else []
        )
        return 0
    results = []
    for about in wanted:
        compared, told = check(about, find_engines(), corpus)
        results.append(compared)
        print("\n".join([*describe(compared), told]), flush=True)
    if given.explain is not None:
        before = read_explained()
        after = explain(before, results, given.explain, given.matching, len(find_engines()))
        write_explained(after)
        print(f"listed {len(after):,} differences, {len(before):,} before; compare again")
    return 1 if any(each.unexplained or each.stale for each in results) else 0


if __name__ == "__main__":
    sys.exit(main())
