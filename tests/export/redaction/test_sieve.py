"""What is passed over at a glance holds nothing that a finder would have found."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path

import pytest

from planted import EMAIL, HOME, USER, list_secrets
from turnlog.export.redaction import Redactor, list_strings
from turnlog.export.secret_patterns import (
    EVERYTHING,
    NOTHING,
    PRIVATE_KEYS,
    TOKENS,
    Sign,
    find_accounts,
    find_assigned,
    find_emails,
    find_homes,
    find_signs,
    find_text_signs,
    list_users,
)

TEXTS = {
    **list_secrets(),
    "an address": f"write to {EMAIL}.",
    "a home": f"cd {HOME}/shop",
    "a home of Windows": rf"C:\Users\{USER}\shop",
    "a folder": f"projects/-home-{USER}-shop",
    "an option": "mysql --password hunter2hunter2 -h x",
    "signed on": "curl -u ada:hunter2hunter2 https://example.org",
    "a header": "X-Internal-Token:\n   hunter2hunter2",
    "a bearer": "Bearer\tabcdefghijklmnop0123",
    "a parameter": "https://example.org/?a=1&X-Amz-Signature=abcdef0123456789",
    "in an address": "postgres://ada:hunter2@db.example.org/x",
    "an account": '{"organizationUuid": "0f0e0d0c-0b0a-4908-8706-050403020100"}',
    "a marked account": "user_0123456789abcdef0123456789abcdef",
    "a word with a wide gap": "client_secret['live']\u00a0 =>\u2003'hunter2hunter2'",
    "in the way of Kelvin": "TO\u212aEN = 'hunter2hunter2'",
    "with a long s": "pa\u017f\u017fword: 'hunter2hunter2'",
}
BEFORE = ("", "\n", "\t", "é", "x = ", '"', "\\")


def assert_sifted(text: str, lines: tuple[bytes, ...]) -> None:
    """Hold what is told at a glance, of a text and of lines that hold it, against what finders find."""
    signs = find_text_signs(text)
    assert list(find_assigned(text, signs)) == list(find_assigned(text))
    missed = {
        Sign.KEY: PRIVATE_KEYS.search(text),
        Sign.TOKEN: TOKENS.search(text),
        Sign.EMAIL: next(find_emails(text), None),
        Sign.ACCOUNT: next(find_accounts(text), None),
    }
    assert [sign for sign, found in missed.items() if found and sign not in signs] == []
    if next(find_homes(text), None) is not None:
        assert not signs.isdisjoint({Sign.HOME, Sign.USERS, Sign.OTHER_HOME})
    for line in lines:
        assert signs <= find_signs(line)


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_whatever_is_found_is_seen_at_a_glance_in_texts_and_lines(text: str) -> None:
    for before in BEFORE:
        said = f"{before}{text}"
        value = {"said": [said], "inner": json.dumps({"said": said})}
        lines = (json.dumps(value).encode(), json.dumps(value, ensure_ascii=False).encode())
        assert_sifted(said, lines)


def test_ordinary_text_is_passed_over() -> None:
    said = "The tokens of `max_tokens` are counted; see the password policy & the key points. src/app.py:12"
    assert find_text_signs(said) == NOTHING
    assert find_signs(json.dumps({"text": said, "usage": {"input_tokens": 12}}).encode()) == NOTHING


def test_where_json_escapes_what_it_need_not_all_is_looked_for() -> None:
    assert find_signs(rb'{"said":"\u0073k-ant-api03-abcdefghijklmnop"}') == EVERYTHING
    assert find_signs(rb'{"said":"\/home\/ada"}') == EVERYTHING


@pytest.mark.parametrize("escaped", [False, True])
def test_lines_teach_what_their_texts_teach(escaped: bool) -> None:
    encoded = b64encode(b"the password = 'correct-horse-7' of the database at home").decode()
    texts = [
        *(f"{sign}{encoded}" for sign in BEFORE),
        *TEXTS.values(),
        "cd /home/józef/x",
        "ls /home/élodie",
        "/Users/grace",
        f"see {HOME}",
    ]
    lines = [json.dumps({"said": text}, ensure_ascii=escaped).encode() for text in texts]
    by_lines, by_texts = Redactor(), Redactor()
    by_lines.learn_lines(lines, list_strings)
    by_texts.learn(text for line in lines for text in list_strings(line))
    for text in (*texts, "grace, élodie and józef", *(f"x{text[-20:]}" for text in texts)):
        assert by_lines.redact(text) == by_texts.redact(text)


@pytest.mark.parametrize("escaped", [False, True])
def test_lines_teach_users_wherever_their_folders_are_named(escaped: bool) -> None:
    names = ["ada", "grace", "linus", "margaret", "root", "edsger"]
    ends = ["\\x", "_x", "", "\n", "\u00a0", "-shop", '"', "é"]  # not all of them end a name
    texts = [f"see -home-{name}{end}" for end in ends for name in names]
    texts += [rf"..\Users\donald{end}" for end in ends] + [rf"C:\Users\donald{end}" for end in ends]
    for first in range(len(texts)):  # what one line does not tell, a later one may
        lines = [json.dumps({"said": text}, ensure_ascii=escaped).encode() for text in texts[first:]]
        by_lines, by_texts = Redactor(), Redactor()
        by_lines.learn_lines(lines, list_strings)
        by_texts.learn(text for line in lines for text in list_strings(line))
        for name in (*names, "donald"):
            assert by_lines.redact(f"by {name}.") == by_texts.redact(f"by {name}.")


def test_in_real_sessions_nothing_is_passed_over(corpus: Path) -> None:
    for path in sorted(corpus.rglob("*.jsonl"))[:60]:
        for line in path.read_bytes().split(b"\n")[:60]:
            signs = find_signs(line)
            if Sign.ODD in signs or len(line) > 50_000:
                continue
            users: set[str] = set()
            for text in list_strings(line):
                assert_sifted(text, ())
                assert find_text_signs(text) <= signs
                users |= list_users(text)
            if users:
                assert not signs.isdisjoint({Sign.HOME, Sign.USERS, Sign.OTHER_HOME})
