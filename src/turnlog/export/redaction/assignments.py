"""Values that are secret because of what stands before them: `password=`, `Authorization:`, an address.

A value counts wherever it is: in JSON, in JSON inside a string, in a shell's command, in a diff, in YAML. What
refers to a secret, as `$TOKEN` and `os.environ[...]` do, is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import re2  # type: ignore[import-untyped]

from turnlog.export.redaction.findings import Finding, Kind, match_words
from turnlog.export.redaction.signs import EVERYTHING, Sign

SECRET_WORDS = (
    r"pass(?:word|wd|phrase|code)?|pwd|secret|token|api[_-]?key|apikey|access[_-]?key|account[_-]?key|auth[_-]?key"
    r"|client[_-]?secret|private[_-]?key|secret[_-]?key|signing[_-]?key|encryption[_-]?key|credentials?|bearer"
)
_QUOTE = r"(?:\\{0,7}[\"'`])"
_WORD = re2.compile(SECRET_WORDS.encode())
"""Of a text in small letters, each of which is one byte: to leave case aside takes several times as long."""
_HEAD = re.compile(r"(?:[A-Za-z0-9]+[_.-]){1,6}\Z|(?:\b|[a-z])\Z|(?<![A-Za-z0-9])\Z")
"""What may stand before such a word: the beginning of a name."""
_REST = re.compile(
    rf"(?:[_.-][A-Za-z0-9]+){{0,3}}{_QUOTE}?\]?\s{{0,4}}(?:=>|:=|==?|:)\s{{0,4}}"
    rf"(?:({_QUOTE})(.{{4,400}}?)\1|([^\s\"'`\\,;&|<>(){{}}\[\]]{{6,400}}))"
)
_LONGEST_HEAD = 80
_NAME_ENDS = re.compile(r"[^A-Za-z0-9_.-]")
_OPTION = re.compile(
    r"--(?:password|passwd|token|secret|api-key|client-secret|auth-token)[ =]+"
    r"(?:[\"']([^\"'\n]{4,400})[\"']|([^\s\"'$<\[({]{6,400}))",
    re.IGNORECASE,
)
_SIGNED_ON = re.compile(r"(?:(?<=\s)-u|--user)[ =]+[\"']?[^\s:\"'$]{1,100}:([^\s\"'$]{4,200})")
_HEADER = re.compile(
    r"(?:authorization|x-api-key|x-auth-token|private-token|x-[a-z-]{1,20}-(?:key|token))"
    rf"{_QUOTE}?\s{{0,4}}[:=]\s{{0,4}}{_QUOTE}?(?:(?:bearer|basic|token|digest)\s+)?([^\s\"'`\\,;$<(\[{{]{{8,2000}})",
    re.IGNORECASE,
)
_BEARER = re.compile(r"\b(?:bearer|basic)\s+([A-Za-z0-9+/_.=~-]{16,2000})", re.IGNORECASE)
_ADDRESS = re.compile(r":(?:\\?/){2}[^\s/:@\"'<>\\]{0,200}:([^\s/@\"'<>\\]{1,400})@")
_PARAMETER = re.compile(
    r"[?&](?:access_token|token|sig|signature|x-amz-signature|x-amz-credential|x-amz-security-token|x-goog-signature"
    r"|api_?key|key|secret|password|code|client_secret)=([^\s&#\"'<>\\]{6,2000})",
    re.IGNORECASE,
)
_REFERENCE = re.compile(
    r"^(?:[$%<{\[(*]|\.{3}|x{3,}|\*{3,}|process\.env|os\.(?:environ|getenv)|env[.(\[]|getenv|import\.meta|self\.|this\."
    r"|config[.(\[]|settings[.(\[]|args\.|options\.|secrets\.|vault[.:]|ENV\[)"
    r"|^(?:none|null|nil|true|false|undefined|string|str|bytes|int|number|boolean|required|optional|redacted"
    r"|changeme|example|placeholder|your[_-].*|my[_-].*|<.*>|.*\(.*|.*\[.*)$",
    re.IGNORECASE,
)
_CODE = re.compile(r"^[A-Za-z_][A-Za-z_]*(?:\.[A-Za-z_]+)*$")
_NOT_SECRET = re.compile(
    r"(?:^|[_.-])(?:max|min|num|count|total|input|output|cache|cached|budget|limit|usage|used|per|type|name|file|path|url|uri"
    r"|length|size|index|id|ids|ttl|expiry|expires|at|cost|costs|rate|window|estimate|prompt|completion|creation|read|reset|policy|field)(?:$|[_.-])",
    re.IGNORECASE,
)
"""Names with such a part are about a secret, or about none: `max_tokens`, `token_count`, `password_file`."""
_SECRET_NAME = re.compile(
    rf"^(?:[A-Za-z0-9]+[_.-]){{0,6}}(?:[a-z]+)?(?:{SECRET_WORDS})(?:[_.-][A-Za-z0-9]+){{0,3}}$", re.IGNORECASE
)
_FORMS: tuple[tuple[Sign, re.Pattern[str], tuple[str, ...]], ...] = (
    (Sign.OPTION, _OPTION, ("--",)),
    (Sign.SIGNED_ON, _SIGNED_ON, ("-u", "--user")),
    (Sign.HEADER, _HEADER, ("authorization", "x-", "private-token")),
    (Sign.BEARER, _BEARER, ("bearer", "basic")),
    (Sign.PARAMETER, _PARAMETER, ("?", "&")),
    (Sign.ADDRESS, _ADDRESS, (":/", ":\\")),
)
"""Each with the words with which it begins, in small letters."""
_ASSIGNED = frozenset({Sign.WORD, *(sign for sign, _, _ in _FORMS)})


def find_assigned(text: str, signs: frozenset[Sign] = EVERYTHING) -> Iterator[Finding]:
    """Yield the secret values of a text that may be of some sorts."""
    if signs.isdisjoint(_ASSIGNED):
        return
    small = lower(text)
    for word in _WORD.finditer(small.encode("ascii", "replace")) if Sign.WORD in signs else ():
        match = _REST.match(text, word.end())
        if match is None:
            continue
        head = _HEAD.search(text, max(0, word.start() - _LONGEST_HEAD), word.start())
        group = 2 if match[2] is not None else 3
        name = f"{head[0] if head else ''}{text[word.start() : match.start(group)]}"
        if head and not _NOT_SECRET.search(_NAME_ENDS.split(name)[0]) and _is_value(match[group], group == 2):
            yield Finding(*match.span(group), Kind.PASSWORD)
    for sign, pattern, words in _FORMS:
        for match in match_words(pattern, text, words, small) if sign in signs else ():
            group = match.lastindex or 0
            if not _REFERENCE.match(match[group]):
                yield Finding(*match.span(group), Kind.PASSWORD)


def lower(text: str) -> str:
    """Return a text in small letters, in which everything stands where it stood."""
    small = text.lower()
    return small if len(small) == len(text) else "".join(map(_lower_sign, text))


def _lower_sign(sign: str) -> str:
    small = sign.lower()
    return small if len(small) == 1 else sign


def is_secret_name(name: str) -> bool:
    """Tell whether a field of this name holds a secret."""
    return bool(_SECRET_NAME.match(name)) and not _NOT_SECRET.search(name)


def _is_value(value: str, quoted: bool) -> bool:
    if _REFERENCE.match(value):
        return False
    # Without quotes, a word is code or prose more often than a password; one with a digit or a sign is not.
    return (quoted and not value.isspace() and " " not in value.strip()) or not _CODE.match(value)
