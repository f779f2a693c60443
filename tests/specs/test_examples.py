"""The examples of the five specs go all the way: read, archived, over the API, exported, validated.

`data/specs` has one session for each spec, made of its examples with the lines that they refer to.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import turnlog
from command_line import invoke
from golden import DATA
from server_app import Served, serving

SPECS = ("000", "001", "002", "003", "004")


def path_of(spec: str) -> Path:
    return DATA / "specs" / f"{spec}.jsonl"


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def session_of(spec: str) -> str:
    first = rows_of(path_of(spec))[0]
    return str(first.get("sessionId") or first["session_id"])


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    done = invoke("sync", *map(path_of, SPECS), env={"TURNLOG_HOME": str(home)})
    assert done.exit_code == 0, done.output
    return home


@pytest.fixture(scope="module")
def served(home: Path) -> Iterator[Served]:
    with serving(home) as served:
        yield served


def findings_of(path: Path) -> list[str]:
    """Return what `turnlog validate` finds wrong, without its notes."""
    done = invoke("validate", path, "--json")
    (file,) = json.loads(done.stdout)["files"]
    assert len(file["findings"]) == file["counts"]["error"] + file["counts"]["warning"]
    return [str(each) for each in file["findings"]]


@pytest.mark.parametrize("spec", SPECS)
def test_examples_are_read_without_problems(spec: str) -> None:
    session = turnlog.read(path_of(spec))
    assert len(session.lines) == len(rows_of(path_of(spec)))
    assert list(session.problems) == []
    assert findings_of(path_of(spec)) == []


@pytest.mark.parametrize("spec", SPECS)
def test_the_api_has_every_message_of_the_examples(served: Served, spec: str) -> None:
    answer = served.get(f"/api/sessions/{session_of(spec)}/messages?limit=200")
    assert answer.status == 200, answer.body
    messages = answer.json["items"]
    assert [each["uuid"] for each in messages] == [each.id for each in turnlog.read(path_of(spec)).messages]
    assert all(each["_id"] for each in messages)
    for each in messages:
        raw = served.get(f"/api/sessions/{session_of(spec)}/messages/{each['index']}/raw")
        assert raw.status == 200, raw.body


@pytest.mark.parametrize("camel", [True, False])
@pytest.mark.parametrize("spec", SPECS)
def test_documents_made_from_the_examples_are_valid(home: Path, tmp_path: Path, spec: str, camel: bool) -> None:
    target = tmp_path / "documents.json"
    options = () if camel else ("--snake",)
    done = invoke(
        "export", session_of(spec), "--format", "json", "--no-redact", "--output", target, *options,
        env={"TURNLOG_HOME": str(home)},
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    documents = json.loads(target.read_bytes())
    assert documents
    identities = [each["_id"] for each in documents]
    assert len(set(identities)) == len(identities)
    assert findings_of(target) == []


@pytest.mark.parametrize("spec", SPECS)
def test_the_bytes_come_back(home: Path, tmp_path: Path, spec: str) -> None:
    done = invoke("export", session_of(spec), "--raw", "--output", tmp_path, env={"TURNLOG_HOME": str(home)})
    assert done.exit_code == 0, done.output
    (written,) = (each for each in tmp_path.rglob("*.jsonl") if each.is_file())
    assert written.read_bytes() == path_of(spec).read_bytes()


def blocks_of(text: str) -> Iterator[str]:
    """Yield each object of the JSON blocks of a document, without comments."""
    for block in re.findall(r"```jsonc?\n(.*?)```", text, re.DOTALL):
        bare = re.sub(r"(?m)(^|\s)//.*$", "", block).replace('"…"', '"2026-02-22T09:00:00.000Z"')
        decoder, at = json.JSONDecoder(), 0
        while (start := bare.find("{", at)) >= 0:
            try:
                _, at = decoder.raw_decode(bare, start)
            except json.JSONDecodeError:  # a schema, or cut short: "type": "human" | "assistant"
                break
            yield bare[start:at]


def test_every_json_example_as_the_specs_print_it_is_typed(corpus: Path) -> None:
    folder = corpus.parent / "specs"
    if not folder.is_dir():
        pytest.skip(f"no specs at {folder}")
    counted = {}
    for path in sorted(folder.glob("*.md")):
        examples = [each for each in blocks_of(path.read_text()) if '"uuid"' in each]
        counted[path.name[:3]] = len(examples)
        for example in examples:
            line = turnlog.decode(json.dumps(json.loads(example)))
            assert not line.problems, (path.name, example, line.problems)
    assert counted == {"000": 8, "001": 0, "002": 11, "003": 6, "004": 6}
