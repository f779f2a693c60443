"""What is taken out of a text: keys and tokens, values after `password=`, who somebody is and where they work.

No maintained library does this for a text: detect-secrets reports lines and not places and knows few of today's
forms, and the better scanners are programs, or need a model. So the forms of keys that say themselves what they
are stand here, and tests hold them against scanners of others. Other values are secret because of what stands
before them (`password=`, `Authorization:`, an address), wherever they are: in JSON, in JSON inside a string, in
a shell's command, in a diff, in YAML. What refers to a secret, as `$TOKEN` and `os.environ[...]` do, is none.

The finders know exactly what they look for, and take their time. The sieve looks for all of it at once, by what
it has in any case, in one pass of RE2, which goes through bytes ten times as fast as Python's own expressions.
So a finder is only asked about texts in which there may be something for it. Whole lines can be searched before
their JSON is decoded. What JSON may do to a text is allowed for: a quote with backslashes before it, a newline
that is written as two characters. Where anything else is escaped that need not be, or where a character is in
the text that some take for a letter of ASCII, all finders are asked. Forms that count characters are counted by
the sieve no further than is of use: what RE2 has to keep in mind for that takes long to make.
"""

from __future__ import annotations

import binascii
import codecs
import re
from collections.abc import Iterable, Iterator, Set
from enum import IntEnum, StrEnum
from functools import cache
from typing import Any

import re2  # type: ignore[import-untyped]
from msgspec import Struct


class Kind(StrEnum):
    """What is removed."""

    PRIVATE_KEY = "private-key"
    TOKEN = "token"
    """A key or token that is known by its form."""
    PASSWORD = "password"
    """What stands behind a word such as `password`, `secret` or `api_key`, or in an address."""
    EMAIL = "email"
    HOME = "home-directory"
    USER = "user-name"
    ACCOUNT = "account-id"
    """Of an account, an organisation, a user, a device."""
    WORD = "word"
    """One that somebody wants out."""
    ENCODED = "base64"
    """Encoded text with any of these in it."""


class Finding(Struct, frozen=True, gc=False):
    """A stretch of a text that is to be taken out."""

    start: int
    end: int
    kind: Kind


def match_words(
    pattern: re.Pattern[str], text: str, words: Iterable[str], small: str | None = None
) -> Iterator[re.Match[str]]:
    """Yield what `pattern.finditer` yields for a pattern that always begins with one of some words.

    Python tries such a pattern at each character in turn; to look for the words alone is many times as fast.
    Where case does not count, they are looked for in `small`, the text in small letters.
    """
    searched = text if small is None else small
    places: list[int] = []
    for word in words:
        at = searched.find(word)
        while at >= 0:
            places.append(at)
            at = searched.find(word, at + 1)
    if not places:
        return
    places.sort()
    end = 0
    for at in places:
        if at >= end and (match := pattern.match(text, at)) is not None:
            yield match
            end = match.end()


def merge_findings(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings in order, none of which touches another: of those that do, what covers more stays."""
    settled: list[Finding] = []
    for finding in sorted(findings, key=lambda each: (each.start, -each.end)):
        last = settled[-1] if settled else None
        if last is None or finding.start >= last.end:
            settled.append(finding)
        elif finding.end > last.end:
            settled[-1] = Finding(last.start, finding.end, last.kind)
    return settled


class Sign(IntEnum):
    """What there may be something of."""

    KEY = 0
    TOKEN = 1
    WORD = 2
    """A value behind a word such as `password`; those up to `ADDRESS` are other values that are named."""
    OPTION = 3
    SIGNED_ON = 4
    HEADER = 5
    BEARER = 6
    PARAMETER = 7
    ADDRESS = 8
    EMAIL = 9
    HOME = 10
    USERS = 11
    """Where home directories are on a Mac."""
    OTHER_HOME = 12
    """Not written with slashes alone."""
    ACCOUNT = 13
    ODD = 14
    ENCODED = 15


NOTHING: frozenset[Sign] = frozenset()
EVERYTHING = frozenset(Sign)


_BEFORE = r"(?<![A-Za-z0-9])"
TOKEN_FORMS = (
    r"sk-ant-[A-Za-z0-9_-]{16,}",
    r"sk-(?:proj|svcacct|admin|or|lf)-[A-Za-z0-9_-]{16,}",
    r"sk-[A-Za-z0-9]{20,}",
    r"pk-lf-[A-Za-z0-9-]{16,}",
    r"gh[opsur]_[A-Za-z0-9_]{20,}",
    r"github_pat_[A-Za-z0-9_]{20,}",
    r"gl(?:pat|dt|ft|soat|rt|cbt|imt|ptt|agent|oas)-[A-Za-z0-9_.-]{16,}",
    r"GR1348941[A-Za-z0-9_-]{16,}",
    r"(?:A3T[A-Z0-9]|ABIA|ACCA|AKIA|ASIA|AGPA|AIDA|AIPA|ANPA|ANVA|APKA|AROA)[A-Z0-9]{12,}",
    r"AIza[A-Za-z0-9_-]{30,}",
    r"ya29\.[A-Za-z0-9_-]{20,}",
    r"GOCSPX-[A-Za-z0-9_-]{20,}",
    r"xox[abeoprs]-[A-Za-z0-9-]{10,}",
    r"xapp-[0-9]-[A-Za-z0-9-]{10,}",
    r"npm_[A-Za-z0-9]{30,}",
    r"pypi-[A-Za-z0-9_-]{40,}",
    r"(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}",
    r"whsec_[A-Za-z0-9+/=]{16,}",
    r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
    r"hf_[A-Za-z0-9]{20,}",
    r"hv[sbr]\.[A-Za-z0-9_-]{20,}",
    r"dapi[0-9a-f]{32}",
    r"do[oprt]_v1_[A-Za-z0-9]{32,}",
    r"shp(?:at|ca|pa|ss)_[A-Za-z0-9]{20,}",
    r"lin_(?:api|oauth)_[A-Za-z0-9]{20,}",
    r"fig[dor]_[A-Za-z0-9_-]{20,}",
    r"tskey-[a-z]+-[A-Za-z0-9-]{10,}",
    r"AGE-SECRET-KEY-1[A-Z0-9]{40,}",
    r"PMAK-[A-Za-z0-9-]{40,}",
    r"sntry[su]_[A-Za-z0-9+/=_-]{30,}",
    r"ATATT3[A-Za-z0-9_=-]{30,}",
    r"ATBB[A-Za-z0-9]{24,}",
    r"sbp_[a-f0-9]{30,}",
    r"sq0[a-z]{3}-[A-Za-z0-9_-]{20,}",
    r"EAAA[A-Za-z0-9_-]{56,}",
    r"r8_[A-Za-z0-9]{30,}",
    r"gsk_[A-Za-z0-9]{30,}",
    r"xai-[A-Za-z0-9]{40,}",
    r"pplx-[A-Za-z0-9]{30,}",
    r"dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{20,}",
    r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}",
    r"ops_eyJ[A-Za-z0-9+/=_-]{40,}",
    r"NRAK-[A-Z0-9]{20,}",
    r"glsa_[A-Za-z0-9_]{30,}",
    r"glc_[A-Za-z0-9+/=]{30,}",
    r"key-[0-9a-f]{32}",
    r"[0-9a-f]{32}-us[0-9]{1,2}",
    r"(?:AC|SK)[0-9a-f]{32}",
    r"rubygems_[0-9a-f]{40,}",
    r"secret_[A-Za-z0-9]{40,}",
    r"ntn_[A-Za-z0-9]{40,}",
    r"AKC[A-Za-z0-9]{20,}",
    r"[0-9]{8,10}:AA[A-Za-z0-9_-]{30,}",
    r"[MNO][A-Za-z0-9_-]{23,25}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}",
    r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.?[A-Za-z0-9_-]*",
    r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9_/-]{20,}",
    r"discord(?:app)?\.com/api/webhooks/[0-9]+/[A-Za-z0-9_-]{20,}",
    r"[a-z0-9]+\.webhook\.office\.com/webhookb2/[A-Za-z0-9@/_-]{40,}",
    r"AccountKey=[A-Za-z0-9+/]{40,}={0,2}",
    r"SharedAccessKey=[A-Za-z0-9+/]{30,}={0,2}",
)
TOKENS = re.compile(_BEFORE + "(?:" + "|".join(TOKEN_FORMS) + ")")

PRIVATE_KEYS = re.compile(
    r"-----BEGIN[ A-Z0-9]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    # Line ends may be escaped, more than once, and lines may begin as those of a diff or a quotation do.
    r"(?:(?!-----)[\s\S]){0,20000}"
    r"(?:-----END[ A-Z0-9]{0,40}PRIVATE KEY(?: BLOCK)?-----)?"
    r"|PuTTY-User-Key-File-[0-9][\s\S]{0,4000}?Private-MAC:\s*[0-9a-f]+"
)
"""One that is cut off ends where its text does."""


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


_LOCAL_PART = re.compile(r"(?<![A-Za-z0-9._%+/-])[A-Za-z0-9._%+-]{1,64}\Z")
_DOMAIN = re.compile(r"@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,8}[A-Za-z]{2,24}(?![A-Za-z0-9-])")
_NOBODY = re.compile(
    r"^(?:noreply|no-reply|git)@|@(?:[a-z0-9-]+\.)*(?:example\.(?:com|org|net)|noreply\.github\.com)$", re.I
)
"""Addresses at which nobody is."""
_USER_NAME = r"([^\s/\\\"'`<>|:*?,;()\[\]{}]{1,64})"
_HOMES = (
    ("/home/", re.compile(f"/home/{_USER_NAME}")),
    ("/Users/", re.compile(f"(?:[A-Za-z]:)?/Users/{_USER_NAME}")),
)
_WINDOWS_HOME = re.compile(r"[A-Za-z]:\\{1,8}Users\\{1,8}" + _USER_NAME)
_ENCODED_HOME = re.compile(r"-(?:home|Users)-([A-Za-z0-9]{2,64})(?=-|/|$|[\"'\s])")
"""As folders of projects are named."""
_EVERYBODY = frozenset(
    {
        "admin", "administrator", "app", "codespace", "debian", "default", "dev", "example", "git", "guest",
        "home", "me", "name", "node", "nobody", "public", "root", "runner", "shared", "test", "ubuntu", "user",
        "username", "users", "vscode", "work", "www", "you",
    }
)  # fmt: skip
"""Names of users that say nothing about anybody."""
_UUID = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
_ACCOUNT_WORDS = (
    r"account[_-]?(?:uuid|id)|organi[sz]ation[_-]?(?:uuid|id)|org[_-]?(?:uuid|id)|workspace[_-]?(?:uuid|id)|user[_-]?(?:uuid|id)"
    r"|device[_-]?id|customer[_-]?id|tenant[_-]?id|subscription[_-]?id|owner[_-]?id|anonymous[_-]?id|machine[_-]?id"
)
_ACCOUNT_ID = re.compile(r"id(?:\\{0,7}[\"'])?\s{0,3}[:=]\s{0,3}(?:\\{0,7}[\"'])?([a-z0-9_.|:-]{6,200})")
"""Of a text in small letters."""
_ACCOUNT_END = re.compile(rf"(?<![A-Za-z0-9])(?:{_ACCOUNT_WORDS})\Z")
_ACCOUNT_NAME = re.compile(rf"^(?:{_ACCOUNT_WORDS})$", re.IGNORECASE)
_MARKED = re.compile(
    rf"(?:account|org|organization|user)_+({_UUID}|[0-9a-f]{{32,64}})"
    r"|(?<![A-Za-z0-9_])(?:org|user|acct|cus)[-_](?=[A-Za-z]*[0-9])[A-Za-z0-9]{14,40}(?![A-Za-z0-9])"
)
_MARKS = ("account", "org", "user", "acct", "cus")
_EMPTY = frozenset({"string", "undefined", "unknown", "optional", "required"})


def find_emails(text: str) -> Iterator[Finding]:
    """Yield addresses of e-mail at which somebody may be."""
    at = text.find("@")
    while at >= 0:
        before = _LOCAL_PART.search(text, max(0, at - 65), at)
        behind = _DOMAIN.match(text, at) if before else None
        if before and behind and not _NOBODY.search(before[0] + behind[0]):
            yield Finding(before.start(), behind.end(), Kind.EMAIL)
        at = text.find("@", at + 1)


def find_homes(text: str) -> Iterator[Finding]:
    """Yield home directories, without what is in them; in names of folders, the user alone."""
    for match in _match_homes(text):
        yield Finding(match.start(), match.end(), Kind.HOME)
    for match in _match_folders(text):
        if match[1].lower() not in _EVERYBODY:
            yield Finding(match.start(1), match.end(1), Kind.USER)


def list_users(text: str) -> set[str]:
    """Return the names of users by which home directories are called, but for those that anybody may have."""
    found = {match[1] for match in (*_match_homes(text), *_match_folders(text))}
    return {name for name in found if len(name) > 2 and name.lower() not in _EVERYBODY}


def _match_homes(text: str) -> Iterator[re.Match[str]]:
    for sign, pattern in _HOMES:
        at, end = text.find(sign), 0
        while at >= 0:
            # The letter of a drive may stand before it.
            match = (pattern.match(text, at - 2) if at - 2 >= end else None) or pattern.match(text, at)
            if match is not None:
                yield match
                end = match.end()
            at = text.find(sign, max(end, at + 1))
    if "\\Users\\" in text:
        yield from _WINDOWS_HOME.finditer(text)


def _match_folders(text: str) -> Iterator[re.Match[str]]:
    if "-home-" in text or "-Users-" in text:
        yield from _ENCODED_HOME.finditer(text)


def find_accounts(text: str) -> Iterator[Finding]:
    """Yield ids of accounts, organisations, users and devices."""
    small = lower(text)
    for match in _ACCOUNT_ID.finditer(small):
        end = match.start() + len("id")
        if _ACCOUNT_END.search(small, max(0, end - 28), end) and _may_be_secret(match[1]):
            yield Finding(match.start(1), match.end(1), Kind.ACCOUNT)
    for match in match_words(_MARKED, text, _MARKS):
        yield Finding(match.start(match.lastindex or 0), match.end(), Kind.ACCOUNT)


def _may_be_secret(value: str) -> bool:
    return value.lower() not in _EMPTY and any(sign.isdigit() for sign in value)


def is_account_name(name: str) -> bool:
    """Tell whether a field of this name holds the id of an account."""
    return bool(_ACCOUNT_NAME.match(name))


_GAP = r"(?:\\+[nrt]|\\+u[0-9a-fA-F]{4}|[^A-Za-z0-9:=])*"
"""What may stand between a name and its colon: blanks, brackets and quotes, escaped or not."""
_LEAST = 8
_COUNT = re.compile(r"\{(\d+)(?:,\d*)?\}")
_SIEVED_ACCOUNT = (
    r"(?i:(?:account|organi[sz]ation|org|workspace|user|device|customer|tenant|subscription|owner|anonymous",
    rf"|machine)[_-]?(?:uu)?id{_GAP}[:=])",
    r"|(?:account|org|organization|user)_+[0-9a-fA-F]{8}|(?:org|user|acct|cus)[-_][A-Za-z0-9]{14}",
)
_SIEVED_NAME = rb"[^\s/\\\"'`<>|:*?,;()\[\]{}]{0,64}(?:\\u)?"
_SIEVED_HOMES = (
    (Sign.HOME, re.compile(b"/home/" + _SIEVED_NAME)),
    (Sign.USERS, re.compile(b"/Users/" + _SIEVED_NAME)),
)
_SIEVED_FOLDERS = re.compile(rb"-(?:home|Users)-([A-Za-z0-9]{2,})")
_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_SHAPES = bytes(ord("x") if code in _LETTERS else ord(" ") for code in range(256))
"""Which bytes encoded text is made of."""
_RUN = b"x" * 40
_LETTER_LIKE = r"\xe2\x84\xaa|\xc5\xbf|\\u212[aA]|\\u017[fF]"
"""The signs of Kelvin and the long s, escaped or not: without regard to case, they are a k and an s."""


def _shorten(form: str) -> str:
    """Return a form with small counts in it, which finds all that it finds."""
    return _COUNT.sub(lambda found: f"{{{min(_LEAST, int(found[1]))},}}", form)


_PATTERNS = {
    Sign.KEY: r"PRIVATE KEY|PuTTY-User-Key",
    Sign.TOKEN: rf"(?:^|[^A-Za-z0-9]|\\[nrtbf]|\\u[0-9a-fA-F]{{4}})(?:{'|'.join(map(_shorten, TOKEN_FORMS))})",
    Sign.WORD: rf"(?i:(?:{SECRET_WORDS})(?:[_.-][A-Za-z0-9]+)*{_GAP}[:=])",
    Sign.OPTION: r"(?i:--(?:password|passwd|token|secret|api-key|client-secret|auth-token)[ =])",
    Sign.SIGNED_ON: r"(?:-u|--user)[ =]+\\*[\"']?[^\s:\"'$]+:",
    Sign.HEADER: rf"(?i:(?:authorization|api-key|-token|x-[a-z-]+-key){_GAP}[:=])",
    Sign.BEARER: r"(?i:(?:bearer|basic)(?:\\+[nrt]|\\+u[0-9a-f]{4}|[^A-Za-z0-9])+[A-Za-z0-9+/_.=~-]{16})",
    Sign.PARAMETER: (
        r"(?i:[?&](?:access_token|token|sig|signature|x-amz-[a-z-]+|x-goog-signature|api_?key|key|secret|password"
        r"|code|client_secret)=)"
    ),
    Sign.ADDRESS: r":(?:\\*/){2}[^\s/:@\"'<>\\]*:[^\s/@\"'<>\\]+@",
    Sign.EMAIL: r"[A-Za-z0-9._%+-]@[A-Za-z0-9][A-Za-z0-9-]*\.[A-Za-z0-9]",
    Sign.HOME: "/home/",
    Sign.USERS: "/Users/",
    Sign.OTHER_HOME: r"\\Users\\|-(?:home|Users)-",
    Sign.ACCOUNT: "".join(_SIEVED_ACCOUNT),
    Sign.ODD: rf"\\u00[2-7]|\\/|{_LETTER_LIKE}",
}


@cache
def _build() -> Any:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.max_mem = 64 << 20
    found = re2.Set.SearchSet(options)
    for pattern in _PATTERNS.values():
        found.Add(pattern)
    found.Compile()
    return found.Match


_SIGNS = tuple(_PATTERNS)


def find_signs(data: bytes, *, is_line: bool = True) -> frozenset[Sign]:
    """Return what a line of JSON may hold, or a text as UTF-8."""
    found = _build()(data)
    # To search for forty equal bytes takes half as long as to have RE2 look for forty letters.
    encoded = (
        len(data) >= len(_RUN)
        and _RUN in (shapes := data.translate(_SHAPES))
        and any(_may_be_text(data[at : at + 40], is_line) for at in _list_runs(data, shapes))
    )
    return _share(tuple(found or ()), encoded) if found or encoded else NOTHING


def _may_be_text(run: bytes, is_line: bool) -> bool:
    """Tell whether what may be encoded begins like text; in a line, behind `n` or `u00e9` of an escape."""
    for part in (run[:32], run[1:33], run[5:37]) if is_line else (run[:32],):
        try:
            codecs.utf_8_decode(binascii.a2b_base64(part), "strict", False)  # it may end within a character
        except UnicodeDecodeError:
            continue
        return True
    return False


def list_runs(data: bytes) -> Iterator[int]:
    """Yield where runs of letters begin that are long enough to be encoded text."""
    return _list_runs(data, data.translate(_SHAPES))


def _list_runs(data: bytes, shapes: bytes) -> Iterator[int]:
    at = shapes.find(_RUN)
    while at >= 0:
        if at == 0 or data[at - 1] not in b"_-":
            yield at
        end = shapes.find(b" ", at)
        at = shapes.find(_RUN, end) if end >= 0 else -1


def list_homes(data: bytes, signs: Set[Sign]) -> Iterator[bytes]:
    """Yield the home directories of a line that have slashes, with `\\u` behind those that may go on."""
    for sign, pattern in _SIEVED_HOMES:
        if sign in signs:
            yield from pattern.findall(data)


def may_have_folder(data: bytes, signs: Set[Sign], users: Set[str]) -> bool:
    """Tell whether texts of a line may have the home directory of another user that is not told by slashes."""
    if Sign.OTHER_HOME not in signs:
        return False
    if Sign.ODD in signs or b"\\Users\\" in data:
        return True
    names = {name.decode() for name in _SIEVED_FOLDERS.findall(data)} - users
    return any(name.lower() not in _EVERYBODY for name in names)


def find_text_signs(text: str) -> frozenset[Sign]:
    """Return what a text may hold."""
    return find_signs(text.encode("utf-8", "surrogatepass"), is_line=False)


@cache
def _share(found: tuple[int, ...], has_encoded: bool) -> frozenset[Sign]:
    signs = {_SIGNS[each] for each in found}
    if Sign.ODD in signs:
        return EVERYTHING
    return frozenset(signs | {Sign.ENCODED} if has_encoded else signs)
