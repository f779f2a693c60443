"""Every form of a session with secrets everywhere: nothing of them is left, whoever looks for it."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from planted import EMAIL, HOME, USER, list_secrets, write_planted
from turnlog import read
from turnlog.errors import SelectionError
from turnlog.export.conversation import Selection
from turnlog.export.formats import Format, render_session
from turnlog.export.redaction import Redactor
from turnlog.transcripts.queries.memory import query

SECRETS = list_secrets()
_ALL = Selection()
_OPTIONS = (
    *("--no-validate", "--no-update-check", "--no-dedup", "--confidence", "low"),
    *("--format", "json"),
)


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_planted(tmp_path_factory.mktemp("planted"), SECRETS)


def _render(path: Path, form: Format, *, redact: bool = True, selection: Selection = _ALL) -> str:
    session = read(path)
    redactor = Redactor() if redact else None
    pieces = render_session(query(session), session.summary, form, selection=selection, redactor=redactor)
    return b"".join(pieces).decode()


@pytest.mark.parametrize("form", Format)
def test_a_form_has_all_that_is_planted_unless_it_is_taken_out(planted: Path, form: Format) -> None:
    whole = _render(planted, form, redact=False)
    assert SECRETS["anthropic"] in whole
    assert USER in whole
    redacted = _render(planted, form)
    assert not [name for name, value in SECRETS.items() if value in redacted]
    assert not [told for told in (EMAIL, HOME, USER, "BEGIN RSA") if told in redacted]
    assert "[redacted token " in redacted


def test_another_scanner_finds_nothing(planted: Path, tmp_path: Path) -> None:
    scanner = Path(sys.executable).with_name("kingfisher")
    before, after = tmp_path / "before", tmp_path / "after"
    for folder, redact in ((before, False), (after, True)):
        folder.mkdir()
        for form in Format:
            (folder / f"session.{form}").write_text(_render(planted, form, redact=redact))
    assert len(_scan(scanner, before, tmp_path)) >= len(Format) * 5
    assert _scan(scanner, after, tmp_path) == []


def _scan(scanner: Path, folder: Path, home: Path) -> list[str]:
    done = subprocess.run(
        [scanner, "scan", *_OPTIONS, str(folder)],
        capture_output=True,
        env={"HOME": str(home), "PATH": "/usr/bin:/bin"},
        check=False,
    )
    found = json.loads(done.stdout.splitlines()[0])["findings"]
    return [str(each["rule"]["id"]) for each in found]


def test_documents_have_the_names_of_the_spec(planted: Path) -> None:
    documents = json.loads(_render(planted, Format.JSON))
    kinds = {document["type"] for document in documents}
    assert {"user", "assistant", "tool_use", "tool_result"} <= kinds
    uuids = {document["uuid"] for document in documents}
    for document in documents:
        assert document["_id"] == document["uuid"]
        if document["type"] in ("tool_use", "tool_result"):
            assert document["isSidechain"] is True
            assert document["parentUuid"] in uuids
    answer = next(document for document in documents if document["type"] == "assistant")
    assert {"messageData", "costUsd", "createdAt", "sessionId", "model"} <= set(answer)


def test_documents_may_have_the_names_of_the_api(planted: Path) -> None:
    session = read(planted)
    pieces = render_session(query(session), session.summary, Format.JSON, camel=False)
    first = json.loads(b"".join(pieces))[0]
    assert {"uuid", "message_uuid", "parent_uuid", "parent_uuid_alias", "session_id", "created_at"} <= set(
        first
    )


def test_lines_come_back_as_they_are(planted: Path) -> None:
    assert _render(planted, Format.JSONL, redact=False) == planted.read_text()


def test_a_table_has_a_row_for_each_thing(planted: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(_render(planted, Format.CSV))))
    session = read(planted)
    main = [row for row in rows if not row["agent"]]
    assert sum(row["kind"] == "call" for row in main) == len(session.calls)
    assert sum(row["kind"] == "human" for row in main) == len(session.turns)


def test_turns_can_be_chosen(planted: Path) -> None:
    text = _render(planted, Format.MARKDOWN, selection=Selection(first_turn=2, last_turn=3))
    assert [line for line in text.split("\n") if line.startswith("### Turn")] == ["### Turn 2", "### Turn 3"]


def test_thinking_output_and_agents_can_be_left_out(planted: Path) -> None:
    few = Selection(thinking=False, tool_output=False, agents=False)
    whole, text = _render(planted, Format.MARKDOWN), _render(planted, Format.MARKDOWN, selection=few)
    assert "<summary>Thinking</summary>" in whole
    assert "<summary>Agent" in whole
    assert "They say" not in text
    assert "<summary>Agent" not in text
    assert '"stdout"' not in text


@pytest.mark.parametrize("selection", [Selection(first_turn=900), Selection(branch=9999)])
def test_turns_and_branches_that_are_not_there_are_refused(planted: Path, selection: Selection) -> None:
    with pytest.raises(SelectionError, match=r"there (are no turns|is no branch)"):
        _render(planted, Format.HTML, selection=selection)
