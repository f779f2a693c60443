"""What leaves through a link, without what nobody else should read.

Everything that is said goes through `redact` as JSON, string by string, whatever route it comes from. Before,
all bytes of the session are read for secrets and names, as for an export, and what came since then each time:
a password that one line gives away is taken out of all others. The API cuts long texts, so half a secret may
stand at the end of one: that goes, too.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from threading import Lock

import msgspec
from msgspec.structs import replace

from turnlog.export.redaction import RedactionRules, Redactor, list_strings
from turnlog.server.views.lists import name_session
from turnlog.store.accounts.interface import Link
from turnlog.store.interface import CaredStore, KnownSource, find_known, find_sessions, read_all
from turnlog.store.model import LOCAL, Place, Scope, Viewer
from turnlog.transcripts.hooks.deliveries import DeliveryFilter

_MOST_KEPT = 32
_AT_ONCE = 500
_OVERLAP = 200
"""Hook deliveries may come late: so many of those that were read are read again."""
_BEGINNING = 6
"""How much of a secret at the end of a text is one."""
_TAIL = 2048
_CUT = "[redacted]"


class LinkRedactor:
    """Takes out of answers what a link does not show; from any thread."""

    def __init__(self, store: CaredStore, key: str, words: Sequence[str]) -> None:
        self._store = store
        self._key = key
        self._scope = Scope(LOCAL.owner, Viewer(session=key))
        self._redactor = Redactor(RedactionRules(words=tuple(words)))
        self._lock = Lock()
        self._change: int | None = None
        self._read: dict[str, tuple[int, int]] = {}
        """How far files were read: their generation, and how many bytes."""
        self._deliveries = 0
        self._own: frozenset[str] = frozenset({key})
        """Names that the store itself gave: they tell nothing, and addresses are made of them."""
        self._beginnings: dict[str, list[str]] = {}

    def redact(self, body: bytes) -> bytes:
        """Return JSON without what is to be taken out."""
        with self._lock:
            self._learn()
            value = _Walk(self).redact(msgspec.json.decode(body))
        try:
            return msgspec.json.encode(value)
        except (UnicodeEncodeError, RecursionError):
            return json.dumps(value).encode()

    def redact_text(self, text: str) -> str:
        """Return one string of an answer without what is to be taken out."""
        if text in self._own:
            return text
        return self._cut_tail(self._redactor.redact(text))

    def redact_field(self, name: str, text: str) -> str:
        """Return the value of a field, all of which goes if the name says so."""
        if text in self._own:
            return text
        return self._cut_tail(self._redactor.redact_field(name, text))

    def _cut_tail(self, text: str) -> str:
        """Return a text that does not end with how a secret begins."""
        if not self._beginnings or len(text) < _BEGINNING:
            return text
        first = max(0, len(text) - _TAIL)
        for at in range(first, len(text) - _BEGINNING + 1):
            known = self._beginnings.get(text[at : at + _BEGINNING])
            if known is not None and any(secret.startswith(text[at:]) for secret in known):
                return text[:at] + _CUT
        return text

    def _learn(self) -> None:
        """Read what is new of the session."""
        change = self._store.read_feed(self._scope).last
        if change == self._change:
            return
        known = find_known(self._store, self._scope, self._key)
        sources = () if known is None else known.sources
        for source in sources:
            self._redactor.learn_lines(self._read_on(source), list_strings)
        self._learn_deliveries()
        self._own = frozenset({self._key, *(source.source for source in sources)})
        self._beginnings = {}
        for secret in self._redactor.secrets:
            self._beginnings.setdefault(secret[:_BEGINNING], []).append(secret)
        self._change = change

    def _read_on(self, source: KnownSource) -> Iterator[bytes]:
        """Yield the lines of a file that were not read yet; files that have no lines are one."""
        generation, done = self._read.get(source.source, (source.generation, 0))
        in_lines = source.kind.has_lines and not source.in_array
        if generation != source.generation or not in_lines:
            if (generation, done) == (source.generation, source.length):
                return
            done = 0
        if done >= source.length:
            return
        data = self._read_bytes(source, done)
        end = data.rfind(b"\n") + 1 if in_lines else len(data)
        if in_lines:
            yield from data[:end].split(b"\n")
            if end < len(data):  # torn off: it is read again when there is more of it
                yield data[end:]
        else:
            yield data
        self._read[source.source] = source.generation, done + end

    def _read_bytes(self, source: KnownSource, done: int) -> bytes:
        archive = self._store.archive
        if done:
            place = Place(source.source, source.generation, done)
            return archive.read(self._scope, place, source.length - done)
        return b"".join(read_all(archive, self._scope, source.source, source.generation))[: source.length]

    def _learn_deliveries(self) -> None:
        sessions = [
            each for each in find_sessions(self._store, self._scope, self._key) if each.key == self._key
        ]
        for session_id in {sessions[0].row.session_id or "", name_session(sessions[0])} if sessions else ():
            first = max(0, self._deliveries - _OVERLAP)
            which = DeliveryFilter(session_id=session_id, count=_AT_ONCE, longest_context=0)
            while found := self._store.list_deliveries(self._scope, replace(which, first=first)):
                self._redactor.learn_lines((each.payload for each in found), list_strings)
                first += len(found)
            self._deliveries = max(self._deliveries, first)


class _Walk:
    """The way through a value, by a stack of its own: data may be deep."""

    def __init__(self, by: LinkRedactor) -> None:
        self._by = by

    def redact(self, value: object) -> object:
        root: list[object] = [value]
        waiting: list[tuple[list[object] | dict[str, object], int | str]] = [(root, 0)]
        while waiting:
            holder, at = waiting.pop()
            each = holder[at]  # type: ignore[index]
            if isinstance(each, str):
                named = isinstance(at, str)
                new = self._by.redact_field(str(at), each) if named else self._by.redact_text(each)
                holder[at] = new  # type: ignore[index]
            elif isinstance(each, list):
                waiting += [(each, index) for index in range(len(each))]
            elif isinstance(each, dict):
                renamed = {self._by.redact_text(name): inner for name, inner in each.items()}
                holder[at] = renamed  # type: ignore[index]
                waiting += [(renamed, name) for name in renamed]
        return root[0]


class LinkRedactors:
    """Those of the links that were used last; from any thread."""

    def __init__(self, store: CaredStore, words: Sequence[str] = ()) -> None:
        """Take words that no link shows."""
        self._store = store
        self._words = tuple(words)
        self._kept: OrderedDict[str, LinkRedactor] = OrderedDict()
        self._lock = Lock()

    def find(self, link: Link) -> LinkRedactor:
        """Return what redacts the answers of a link."""
        with self._lock:
            known = self._kept.get(link.id)
            if known is None:
                known = LinkRedactor(self._store, link.session, (*self._words, *link.words))
                self._kept[link.id] = known
            self._kept.move_to_end(link.id)
            if len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
            return known
