from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planted import EMAIL, HOME, USER, list_secrets, list_sentences
from turnlog.export.redaction import RedactionRules, Redactor, redact_json
from turnlog.export.secret_patterns import Kind

SECRETS = list_secrets()


@pytest.mark.parametrize("text", list_sentences(SECRETS), ids=lambda text: text[:24])
@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_no_secret_is_left_however_often_it_is_escaped(text: str, depth: int) -> None:
    for _ in range(depth):
        text = json.dumps({"output": text})
    redacted = Redactor().redact(text)
    assert not [name for name, value in SECRETS.items() if value in redacted]
    assert EMAIL not in redacted
    assert HOME not in redacted
    assert "PRIVATE KEY" not in redacted


def test_a_secret_that_was_seen_once_is_taken_out_where_nothing_tells_it() -> None:
    redactor = Redactor()
    redactor.learn(['password: "correct-horse-7"'])
    assert redactor.redact("it says correct-horse-7 here") == "it says [redacted password 1] here"


def test_the_same_value_has_the_same_number_and_others_have_others() -> None:
    first, second = SECRETS["github"], SECRETS["npm"]
    assert Redactor().redact(f"{first} {second} {first}") == (
        "[redacted token 1] [redacted token 2] [redacted token 1]"
    )


def test_what_was_taken_out_is_reported() -> None:
    redactor = Redactor()
    redactor.redact(f"{SECRETS['github']} {SECRETS['github']} {EMAIL}")
    assert [(each.kind, each.times, each.values) for each in redactor.replaced] == [
        (Kind.TOKEN, 2, 1),
        (Kind.EMAIL, 1, 1),
    ]


@pytest.mark.parametrize(
    "text",
    [
        'password = os.environ["DB_PASSWORD"]',
        "export TOKEN=$GITHUB_TOKEN",
        "token: ${{ secrets.NPM_TOKEN }}",
        '"max_tokens": 32000, "token_count": 1200000',
        "password: string;",
        "const token = getToken();",
        "commit 5d1c2a7e3f444c0e9d7b8a6f1e2b3c4d5e6f7a8b",
        "see https://widgets.io/docs?page=2#install and user@example.com",
        "uuid 5d1c2a7e-3f44-4c0e-9d7b-8a6f1e2b3c4d",
        "/home/runner/work/a.py",
    ],
)
def test_what_only_speaks_of_secrets_stays(text: str) -> None:
    redacted = Redactor().redact(text)
    assert redacted.replace("~", "/home/runner") == text


def test_homes_are_told_as_such_and_their_users_go_everywhere() -> None:
    redactor = Redactor()
    redactor.learn([f"cd {HOME}/shop", rf"C:\Users\{USER}\shop"])
    assert redactor.redact(f"{HOME}/shop belongs to {USER}, in -home-{USER}-shop") == (
        "~/shop belongs to [redacted user-name 1], in -home-[redacted user-name 1]-shop"
    )
    assert redactor.redact(rf"C:\Users\{USER}\shop") == r"~\shop"


def test_ids_of_accounts_go() -> None:
    account = "8f14e45f-ceea-467f-a8d3-1c2b3a4d5e6f"
    for text in (f'"accountUuid": "{account}"', f"org_id={account}", f"user_abc_account__{account}"):
        assert account not in Redactor().redact(text)


def test_words_of_ones_own_go_whatever_their_case() -> None:
    redactor = Redactor(RedactionRules(words=("Project Falcon",)))
    assert redactor.redact("about project falcon") == "about [redacted word 1]"


def test_encoded_text_with_a_secret_in_it_goes() -> None:
    encoded = base64.b64encode(f"token: {SECRETS['github']}".encode()).decode()
    assert Redactor().redact(f"data {encoded} end") == "data [redacted base64 1] end"
    harmless = base64.b64encode(b"nothing of interest is written in this text").decode()
    assert Redactor().redact(harmless) == harmless


def test_people_or_secrets_may_stay() -> None:
    text = f"{EMAIL} {SECRETS['github']}"
    assert Redactor(RedactionRules(people=False)).redact(text) == f"{EMAIL} [redacted token 1]"
    assert Redactor(RedactionRules(secrets=False)).redact(text) == f"[redacted email 1] {SECRETS['github']}"


def test_fields_of_json_are_told_by_their_names() -> None:
    value = {"client_secret": "abc", f"{HOME}/a": {"apiKey": "abc"}, "n": [1, None, EMAIL]}
    assert json.loads(redact_json(json.dumps(value).encode(), Redactor())) == {
        "client_secret": "[redacted password 1]",
        "~/a": {"apiKey": "[redacted password 1]"},
        "n": [1, None, "[redacted email 1]"],
    }


def test_what_is_no_json_is_text() -> None:
    assert redact_json(b'{"broken": ' + EMAIL.encode(), Redactor()) == b'{"broken": [redacted email 1]'
    assert redact_json(b"\xff\xfe", Redactor()) == b"\xff\xfe"


@given(st.text())
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    redactor = Redactor()
    once = redactor.redact(text)
    assert redactor.redact(once) == once


@given(
    st.recursive(
        st.none() | st.booleans() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_any_json_comes_back_as_json(value: object) -> None:
    redact_json(json.dumps(value).encode(), Redactor())
