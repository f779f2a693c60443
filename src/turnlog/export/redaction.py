"""Taking secrets and names out of one text after another, and out of JSON: every string, names of fields too.

Each distinct value gets a number, so that a reader still sees which ones are the same. A secret that was found
once is taken out wherever it stands, also where nothing around it would tell: `learn` reads all texts first.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Set
from urllib.parse import quote

import msgspec
from msgspec import Struct

from turnlog.export.secret_patterns import (
    NOTHING,
    PRIVATE_KEYS,
    TOKENS,
    Finding,
    Kind,
    Sign,
    find_accounts,
    find_assigned,
    find_emails,
    find_homes,
    find_signs,
    find_text_signs,
    is_account_name,
    is_secret_name,
    list_homes,
    list_runs,
    list_users,
    match_words,
    may_have_folder,
    merge_findings,
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
_HOMES = frozenset({Sign.HOME, Sign.USERS, Sign.OTHER_HOME})
_PEOPLE = _HOMES | {Sign.EMAIL, Sign.ACCOUNT}
"""What tells of people alone, and of no secret."""


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
        self._words = _join(self._rules.words, whole=False, flags=re.IGNORECASE)
        self._numbers: dict[tuple[Kind, str], int] = {}
        self._distinct: Counter[Kind] = Counter()
        self._times: Counter[Kind] = Counter()
        self._found: dict[int, tuple[Finding, ...]] = {}
        """The secrets of each text that was learned, by its hash: much is said more than once."""
        self._homes: set[bytes] = set()
        """What was seen of home directories."""
        self._join_known()

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
            self._learn_secrets(text)
            if self._rules.people:
                self._users |= list_users(text)
        self._join_known()

    def learn_lines(self, lines: Iterable[bytes], split: Callable[[bytes], Iterable[str]]) -> None:
        """Read lines of JSON as `learn` reads their texts, into which they are `split` where it is worth it."""
        secrets, people = self._rules.secrets, self._rules.people
        for line in lines:
            signs = find_signs(line)
            if people and not signs.isdisjoint(_HOMES):
                self._learn_homes(line, signs, split)
            if secrets and not signs <= _PEOPLE:
                for text in split(line):
                    self._learn_secrets(text)
        self._join_known()

    def _learn_secrets(self, text: str) -> None:
        known = hash(text)
        if known not in self._found:
            signs = find_text_signs(text) if self._rules.secrets else NOTHING
            found = self._found[known] = tuple(self._find_secrets(text, signs)) if signs else ()
            for finding in found:
                if finding.kind in _SECRET_KINDS:
                    self._note(text[finding.start : finding.end], finding.kind)

    def _learn_homes(self, line: bytes, signs: Set[Sign], split: Callable[[bytes], Iterable[str]]) -> None:
        """Learn the names of users of a line, which is taken apart only where it does not show them itself."""
        new = {*list_homes(line, signs)} - self._homes
        self._homes |= new
        if not all(map(_is_plain_home, new)) or may_have_folder(line, signs, self._users):
            for text in split(line):
                self._users |= list_users(text)
        elif new:
            self._users |= list_users("\n".join(home.decode() for home in new))

    def _join_known(self) -> None:
        self._known = _join(self._secrets, whole=False)
        self._names = _join(self._users, whole=True)
        self._spread = (*self._secrets, *self._users)

    def redact(self, text: str) -> str:
        """Return a text without what is to be taken out."""
        findings = self._find(text)
        if not findings:
            return text
        pieces: list[str] = []
        at = 0
        for finding in merge_findings(findings):
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

    def _find(self, text: str) -> list[Finding]:
        if not text:
            return []
        signs, rules = find_text_signs(text), self._rules
        found: list[Finding] = []
        if signs and rules.secrets and not signs <= _PEOPLE:
            learned = self._found.get(hash(text))
            found += self._find_secrets(text, signs) if learned is None else learned
        if signs and rules.people:
            if Sign.EMAIL in signs:
                found += find_emails(text)
            if not signs.isdisjoint(_HOMES):
                found += find_homes(text)
            if Sign.ACCOUNT in signs:
                found += find_accounts(text)
        for word in self._spread:
            if word in text:
                found += self._find_spread(text)
                break
        if self._words is not None:
            found += (Finding(*match.span(), Kind.WORD) for match in self._words.finditer(text))
        return found

    def _find_spread(self, text: str) -> Iterator[Finding]:
        """Yield what other texts told to be secret, or somebody's name."""
        if self._known is not None:
            for match in match_words(self._known, text, self._secrets):
                yield Finding(match.start(), match.end(), self._secrets.get(match[0], Kind.PASSWORD))
        if self._names is not None:
            for match in match_words(self._names, text, self._users):
                yield Finding(match.start(), match.end(), Kind.USER)

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


def _is_plain_home(home: bytes) -> bool:
    """Tell whether what was seen of a home directory is all of it, as it stands in the text."""
    return home.isascii() and not home.endswith(b"\\u")


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
