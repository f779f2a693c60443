"""A model is found by a part of its name, written as the page writes it or as its id has it.

The search's `model:`, `turnlog sessions --model` and the API's `model=` are the same filter.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from command_line import invoke
from server_app import Served, serving
from turnlog.testing import make_line

MODELS = {
    "opus": "claude-opus-4-7",
    "dated": "claude-sonnet-4-5-20250929",
    "older": "claude-3-5-sonnet-20241022",
    "dotted": "gemini-2.5-pro",
    "odd": "100%_mine",
}
ASKED = [
    ("opus", {"opus"}),
    ("OPUS", {"opus"}),
    ("opus 4.7", {"opus"}),
    ("Opus 4.7", {"opus"}),
    ("opus-4-7", {"opus"}),
    ("claude-opus", {"opus"}),
    ("claude opus 4.7", {"opus"}),
    ("claude-opus-4-7", {"opus"}),
    ("opus 4.5", set()),
    ("sonnet", {"dated", "older"}),
    ("sonnet 4.5", {"dated"}),
    ("sonnet 3.5", {"older"}),
    ("claude 3.5 sonnet", {"older"}),
    ("gemini 2.5", {"dotted"}),
    ("gemini-2.5", {"dotted"}),
    ("2.5-pro", {"dotted"}),
    ("%", {"odd"}),
    ("0%_m", {"odd"}),
    ("o_us", set()),
    ("son%", set()),
    ("claude", {"opus", "dated", "older"}),
    ("gpt", set()),
]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An archive with a session for each model."""
    place = tmp_path_factory.mktemp("models")
    folder = place / "claude" / "projects" / "-home-ada-project"
    folder.mkdir(parents=True)
    for name, model in MODELS.items():
        lines = make_line(0, session_id=name) + make_line(
            1, session_id=name, type="assistant", text="an answer"
        )
        (folder / f"{name}.jsonl").write_bytes(lines.replace(b"claude-test-1", model.encode()))
    env = {"TURNLOG_HOME": str(place / "archive"), "CLAUDE_CONFIG_DIR": str(place / "claude")}
    assert invoke("sync", env=env).exit_code == 0
    return env


@pytest.fixture(scope="module")
def served(home: dict[str, str]) -> Iterator[Served]:
    with serving(Path(home["TURNLOG_HOME"])) as running:
        yield running


@pytest.mark.parametrize(("asked", "expected"), ASKED)
def test_a_search_finds_a_model_by_a_part_of_its_name(
    home: dict[str, str], served: Served, asked: str, expected: set[str]
) -> None:
    query = f'model:"{asked}"'
    found = json.loads(invoke("search", query, "--json", env=home).stdout)
    assert {hit["session_id"] for hit in found["hits"]} == expected
    answer = served.get(f"/api/search?q={quote(query)}").json
    assert {hit["session_id"] for hit in answer["items"]} == expected


@pytest.mark.parametrize(("asked", "expected"), ASKED)
def test_a_list_finds_a_model_by_a_part_of_its_name(
    home: dict[str, str], served: Served, asked: str, expected: set[str]
) -> None:
    found = json.loads(invoke("sessions", "--model", asked, "--json", env=home).stdout)
    assert {session["id"] for session in found["sessions"]} == expected
    answer = served.get(f"/api/sessions?model={quote(asked)}").json
    assert {session["session_id"] for session in answer["items"]} == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("model:*opus*", {"opus"}),
        ("model:opus*", {"opus"}),
        ("model:claude-*-4-5", {"dated"}),
        ("model:opus,gemini", {"opus", "dotted"}),
        ("-model:claude", {"dotted", "odd"}),
    ],
)
def test_stars_and_lists_of_models_go_with_it(home: dict[str, str], query: str, expected: set[str]) -> None:
    found = json.loads(invoke("search", query, "kind:answer", "--json", env=home).stdout)
    assert {hit["session_id"] for hit in found["hits"]} == expected
