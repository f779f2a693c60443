"""Taking secrets and names out of one text after another, and out of JSON: every string, names of fields too.

Each distinct value gets a number, so that a reader still sees which ones are the same. A secret that was found
once is taken out wherever it stands, also where nothing around it would tell: `learn` reads all texts first.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from urllib.parse import quote

import msgspec
from msgspec import Struct

from turnlog.export.secret_patterns import (
    PRIVATE_KEYS,
    TOKENS,
    Finding,
    Kind,
    Sign,
    find_accounts,
    find_assigned,
    find_emails,
    find_homes,
    is_account_name,
    is_secret_name,
    list_homes,
    list_runs,
    list_users,
    match_words,
    settle,
    sift,
    sift_text,
)

_SHORTEST = 8
"""How long a secret is at least that is looked for everywhere; shorter ones stand in too many other words."""
_SECRET_KINDS = frozenset({Kind.TOKEN, Kind.PASSWORD, Kind.ENCODED})
_MARK = "[redacted "
_HOME_SIGN = "~"
_RUN = re.compile(r"[A-Za-z0-9_.:/+=@-]{19,}")
"""Where a token may be: telling all forms apart takes time, and most of a text is not like this."""
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/_-])(?:[A-Za-z0-9+/]{4}){10,}(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_LONGEST_DECODED = 1 << 20
_GLANCED = frozenset({Sign.HOME, Sign.ENCODED})
"""What a line itself tells enough of, without being taken apart."""


class RedactionRules(Struct, frozen=True, gc=False, kw_only=True):
    """What is removed."""

    words: tuple[str, ...] = ()
    """Of one's own, without regard to case."""
    users: tuple[str, ...] = ()
    """Names of users that are known beforehand; others are told by home directories."""
    secrets: bool = True
    people: bool = True
    """E-mail addresses, home directories, names of users, ids of accounts."""


class Replaced(Struct, frozen=True, gc=False):
    """How often something of a kind was taken out, and how many distinct values that were."""

    kind: Kind
    times: int
    values: int


class Redactor:
    """Takes secrets and people out of texts, and counts what it took."""

    def __init__(self, rules: RedactionRules | None = None) -> None:
        self._rules = rules or RedactionRules()
        self._users = {name for name in self._rules.users if len(name) > 2}
        self._secrets: dict[str, Kind] = {}
        self._known: re.Pattern[str] | None = None
        self._words = _join(self._rules.words, whole=False, flags=re.IGNORECASE)
        self._names: re.Pattern[str] | None = _join(self._users, whole=True)
        self._numbers: dict[tuple[Kind, str], int] = {}
        self._distinct: Counter[Kind] = Counter()
        self._times: Counter[Kind] = Counter()
        self._found: dict[int, tuple[Finding, ...]] = {}
        """What each text that was learned tells itself, by its hash: much is said more than once."""
        self._homes: set[bytes] = set()
        """What was seen of names of home directories."""

    @property
    def replaced(self) -> list[Replaced]:
        """What was taken out so far, by kind."""
        return [Replaced(kind, self._times[kind], self._distinct[kind]) for kind in Kind if self._times[kind]]

    @property
    def secrets(self) -> Collection[str]:
        """What was learned to be secret, in each form in which it is looked for."""
        return self._secrets.keys()

    def list_values(self, kind: Kind) -> list[str]:
        """Return what was taken out of a kind so far, each value once, by its number."""
        return [value for known, value in self._numbers if known is kind]

    def learn(self, texts: Iterable[str]) -> None:
        """Read texts for secrets and names of users that are to be taken out of all that follow."""
        for text in texts:
            self._learn(text)
        self._join_known()

    def learn_lines(self, lines: Iterable[bytes], split: Callable[[bytes], Iterable[str]]) -> None:
        """Read lines of JSON as `learn` reads their texts, into which they are `split` where it is worth it."""
        for line in lines:
            signs = sift(line)
            if signs <= _GLANCED and not (Sign.ENCODED in signs and _may_have_text(line)):
                if signs:
                    self._learn_homes(line, split)
            else:
                for text in split(line):
                    self._learn(text)
        self._join_known()

    def _learn(self, text: str) -> None:
        known = hash(text)
        if known in self._found:
            return
        found = self._found[known] = tuple(self._find_by_form(text))
        for finding in found:
            if finding.kind in _SECRET_KINDS:
                self._note(text[finding.start : finding.end], finding.kind)
        if self._rules.people and found:
            self._users |= list_users(text)

    def _learn_homes(self, line: bytes, split: Callable[[bytes], Iterable[str]]) -> None:
        """Learn the names of users of a line in which there is nothing but paths."""
        new = {*list_homes(line)} - self._homes
        if self._rules.people and new:
            self._homes |= new
            if all(name.isascii() and not name.endswith(b"\\u") for name in new):
                self._users |= list_users("\n".join(f"/home/{name.decode()}" for name in new))
            else:
                for text in split(line):
                    self._learn(text)

    def _join_known(self) -> None:
        self._known = _join(self._secrets, whole=False)
        self._names = _join(self._users, whole=True)

    def redact(self, text: str) -> str:
        """Return a text without what is to be taken out."""
        findings = settle(self._find(text))
        if not findings:
            return text
        pieces: list[str] = []
        at = 0
        for finding in findings:
            pieces += text[at : finding.start], self._replace(text[finding.start : finding.end], finding.kind)
            at = finding.end
        pieces.append(text[at:])
        return "".join(pieces)

    def redact_field(self, name: str, value: str) -> str:
        """Return the value of a field without what is to be taken out, all of it if the name says so."""
        if self._rules.secrets and value and is_secret_name(name) and not value.startswith(_MARK):
            return self._replace(value, Kind.PASSWORD)
        if self._rules.people and value and is_account_name(name) and not value.startswith(_MARK):
            return self._replace(value, Kind.ACCOUNT)
        return self.redact(value)

    def _find(self, text: str) -> Iterator[Finding]:
        found = self._found.get(hash(text))
        yield from self._find_by_form(text) if found is None else found
        if self._known is not None:
            for match in match_words(self._known, text, self._secrets):
                yield Finding(match.start(), match.end(), self._secrets.get(match[0], Kind.PASSWORD))
        if self._names is not None:
            for match in match_words(self._names, text, self._users):
                yield Finding(match.start(), match.end(), Kind.USER)
        if self._words is not None:
            yield from (Finding(*match.span(), Kind.WORD) for match in self._words.finditer(text))

    def _find_by_form(self, text: str) -> Iterator[Finding]:
        """Yield what a text itself tells."""
        signs = sift_text(text)
        if not signs:
            return
        if self._rules.secrets:
            yield from self._find_secrets(text, signs)
        if self._rules.people:
            if Sign.EMAIL in signs:
                yield from find_emails(text)
            if Sign.HOME in signs or Sign.OTHER_HOME in signs:
                yield from find_homes(text)
            if Sign.ACCOUNT in signs:
                yield from find_accounts(text)

    def _find_secrets(self, text: str, signs: frozenset[Sign]) -> Iterator[Finding]:
        if Sign.KEY in signs:
            yield from (Finding(*match.span(), Kind.PRIVATE_KEY) for match in PRIVATE_KEYS.finditer(text))
        for run in _RUN.finditer(text) if Sign.TOKEN in signs else ():
            yield from (
                Finding(*match.span(), Kind.TOKEN) for match in TOKENS.finditer(text, run.start(), run.end())
            )
        for finding in find_assigned(text, signs):
            if not text.startswith(_MARK, finding.start):
                yield finding
        if Sign.ENCODED in signs:
            yield from self._find_encoded(text)

    def _find_encoded(self, text: str) -> Iterator[Finding]:
        """Yield encoded text in which there is something to be taken out."""
        for at in list_runs(text.encode("ascii", "replace")):  # each character is one byte
            match = _BASE64.match(text, at)
            if match is None or len(match[0]) > _LONGEST_DECODED:
                continue
            decoded = _decode_base64(match[0])
            if decoded is not None and (TOKENS.search(decoded) or next(find_assigned(decoded), None)):
                yield Finding(*match.span(), Kind.ENCODED)

    def _note(self, value: str, kind: Kind) -> None:
        """Have a secret looked for everywhere, in each form in which it may be written."""
        if len(value) < _SHORTEST or kind is Kind.PRIVATE_KEY:
            return
        for form in (value, json.dumps(value)[1:-1], quote(value, safe="")):
            self._secrets.setdefault(form, kind)

    def _replace(self, value: str, kind: Kind) -> str:
        self._times[kind] += 1
        number = self._numbers.get((kind, value))
        if number is None:
            self._distinct[kind] += 1
            number = self._numbers[kind, value] = self._distinct[kind]
        return _HOME_SIGN if kind is Kind.HOME else f"{_MARK}{kind} {number}]"


def _may_have_text(line: bytes) -> bool:
    """Tell whether anything that may be encoded in a line begins like text."""
    return any(_may_be_text(line[at : at + 40]) for at in list_runs(line))


def _may_be_text(run: bytes) -> bool:
    """Tell whether what may be encoded begins like text; `n` or `u00e9` of an escape may stand before it."""
    for part in (run[:32], run[1:33], run[5:37]):
        try:
            codecs.utf_8_decode(binascii.a2b_base64(part), "strict", False)  # it may end within a character
        except UnicodeDecodeError:
            continue
        return True
    return False


def _join(values: Iterable[str], *, whole: bool, flags: int = 0) -> re.Pattern[str] | None:
    """Return what finds any of some values, the longest first; whole words only, if that is asked for."""
    listed = sorted({value for value in values if value.strip()}, key=lambda value: (-len(value), value))
    if not listed:
        return None
    pattern = "|".join(map(re.escape, listed))
    return re.compile(rf"(?<![A-Za-z0-9])(?:{pattern})(?![A-Za-z0-9])" if whole else pattern, flags)


def _decode_base64(text: str) -> str | None:
    try:
        return base64.b64decode(text, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return None


_LONGEST_NAMED = 200
_encode = msgspec.json.Encoder().encode


def redact_json(data: bytes, redactor: Redactor) -> bytes:
    """Return a JSON text without what is to be taken out; what is no JSON is treated as text."""
    value = _decode_json(data)
    if value is None:
        return redactor.redact(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
    return _write(redact_value(value, redactor.redact, redactor.redact_field))


def list_strings(data: bytes) -> Iterator[str]:
    """Yield the strings of a JSON text, those that are names of fields too; what is no JSON is one string."""
    value = _decode_json(data)
    if value is None:
        yield data.decode("utf-8", "replace")
        return
    waiting: list[object] = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            yield each
        elif isinstance(each, dict):
            for name, inner in each.items():
                if isinstance(inner, str):
                    # A name tells of a short value what it would tell in a text.
                    yield inner if len(inner) > _LONGEST_NAMED else f'{name}: "{inner}"'
                else:
                    yield str(name)
                    waiting.append(inner)
        elif isinstance(each, list):
            waiting += each


def redact_value(
    value: object, redact: Callable[[str], str], redact_field: Callable[[str, str], str]
) -> object:
    """Return a value with its texts redacted, and those of fields by their names.

    It is walked through by a stack of its own, since data may be deep.
    """
    root: list[object] = [value]
    waiting: list[tuple[list[object] | dict[str, object], int | str]] = [(root, 0)]
    while waiting:
        holder, key = waiting.pop()
        each = holder[key]  # type: ignore[index]
        if isinstance(each, str):
            named = isinstance(key, str)
            new: object = redact_field(str(key), each) if named else redact(each)
            holder[key] = new  # type: ignore[index]
        elif isinstance(each, list):
            copied = list(each)
            holder[key] = copied  # type: ignore[index]
            waiting += [(copied, index) for index in range(len(copied))]
        elif isinstance(each, dict):
            renamed = {redact(name): inner for name, inner in each.items()}
            holder[key] = renamed  # type: ignore[index]
            waiting += [(renamed, name) for name in renamed]
    return root[0]


def _decode_json(data: bytes) -> object | None:
    try:
        value: object = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return value


def _write(value: object) -> bytes:
    try:
        return _encode(value)
    except (UnicodeEncodeError, RecursionError):  # halves of characters, which JSON may escape
        return json.dumps(value).encode()
