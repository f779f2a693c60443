"""Real sessions scaled to any size: copies with fresh ids and times, and with words of their own.

What people keep repeats itself: the same file is read again, the same test prints the same lines. In archives
that were looked at, 41 % of the text stands there more than once, so that much of each copy stays as it is. In
the rest, every eighth word or so is another one of the corpus, so that vocabularies and sizes stay real. The
same corpus and size always give the same bytes.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import date, timedelta
from hashlib import blake2b
from itertools import count
from pathlib import Path
from typing import Any

REPEATED = 41
"""How much of the text of a copy is repeated, in percent."""

_UUID = re.compile(rb"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
_NAME = re.compile(rb"\b(toolu|msg|req)_[0-9A-Za-z]{6,40}\b")
_DATE = re.compile(rb'(?<=")20\d\d-\d\d-\d\d(?=T\d\d:\d\d:\d\d(?:\.\d+)?Z")')
_WORD = re.compile(r"(?<![\\\w])[a-z]{4,12}(?!\w)")
_WORDS = re.compile(_WORD.pattern.encode())
_SAMPLED = 200_000
"""From how many bytes of each file the words are drawn."""
_VOCABULARY = 4_000
_SHORTEST = 40
"""Shorter strings are names, paths and the like."""
_KEPT = frozenset({"signature", "cwd", "data"})


def lay_out(paths: Sequence[Path], home: Path, size: int) -> int:
    """Lay out about so many bytes of sessions as Claude Code would, and return how many they are."""
    words = _list_words(paths)
    with ProcessPoolExecutor() as pool:
        tasks = [(path, number, copy, home, words) for path, number, copy in _choose(paths, size)]
        return sum(pool.map(_write, *zip(*tasks, strict=True), chunksize=8))


def vary(data: bytes, copy: int, words: Sequence[str]) -> bytes:
    """Return the lines of a session as its copy of some number has them; the first has them as they are."""
    if not copy:
        return data
    salt, later = b"%d" % copy, timedelta(days=copy)

    def rename_uuid(found: re.Match[bytes]) -> bytes:
        name = blake2b(found[0], digest_size=16, salt=salt).hexdigest().encode()
        return b"-".join((name[:8], name[8:12], name[12:16], name[16:20], name[20:]))

    def rename(found: re.Match[bytes]) -> bytes:
        return found[1] + b"_" + blake2b(found[0], digest_size=12, salt=salt).hexdigest().encode()

    def shift(found: re.Match[bytes]) -> bytes:
        try:
            return (date.fromisoformat(found[0].decode()) + later).isoformat().encode()
        except ValueError:
            return found[0]

    data = _DATE.sub(shift, _NAME.sub(rename, _UUID.sub(rename_uuid, data)))
    return b"\n".join(_reword(line, copy, words) for line in data.split(b"\n"))


def _choose(paths: Sequence[Path], size: int) -> Iterator[tuple[Path, int, int]]:
    for copy in count():
        for number, path in enumerate(paths):
            if size <= 0:
                return
            yield path, number, copy
            size -= path.stat().st_size


def _write(path: Path, number: int, copy: int, home: Path, words: Sequence[str]) -> int:
    folder = home / ".claude" / "projects" / f"-home-ada-p{number % 20}"
    folder.mkdir(parents=True, exist_ok=True)
    data = vary(path.read_bytes(), copy, words)
    return (folder / f"{copy:04x}{number:04x}-0000-4000-8000-{number:012x}.jsonl").write_bytes(data)


def _list_words(paths: Sequence[Path]) -> list[str]:
    found = Counter(word for path in paths for word in _WORDS.findall(path.read_bytes()[:_SAMPLED]))
    often = sorted(found, key=lambda word: (-found[word], word))[:_VOCABULARY]
    return [word.decode() for word in often]


def _reword(line: bytes, copy: int, words: Sequence[str]) -> bytes:
    try:
        value = json.loads(line)
    except ValueError:
        return line
    text = json.dumps(_change(value, copy, words), separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass")


def _change(value: Any, copy: int, words: Sequence[str]) -> Any:
    if isinstance(value, str):
        return _change_text(value, copy, words) if len(value) > _SHORTEST and " " in value else value
    if isinstance(value, list):
        return [_change(each, copy, words) for each in value]
    if isinstance(value, dict):
        return {name: each if name in _KEPT else _change(each, copy, words) for name, each in value.items()}
    return value


def _change_text(text: str, copy: int, words: Sequence[str]) -> str:
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    state = int.from_bytes(digest, "big")
    if state % 100 < REPEATED:
        return text
    state += copy

    def choose(found: re.Match[str]) -> str:
        nonlocal state
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        is_other = state >> 28 == 0 or not found.start()
        return words[(state >> 8) % len(words)] if is_other else found[0]

    return _WORD.sub(choose, text)
