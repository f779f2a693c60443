"""What somebody types in their first minutes with turnlog, and what comes back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import invoke, run_here, show_in_terminal
from server_app import serving
from turnlog.testing import make_line

DAY = "2026-01-02"
"""When all sessions here were."""


class Machine:
    """A machine with some sessions, an archive of them, and a folder to work in."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.folder = place / "claude" / "projects" / "-home-ada-project"
        self.work = place / "work"
        self.work.mkdir()
        self.env = {
            "TURNLOG_HOME": str(place / "archive"),
            "CLAUDE_CONFIG_DIR": str(place / "claude"),
            "TZ": "UTC",
        }

    def write(
        self, session_id: str, text: str = "an answer", *, stem: str | None = None, folder: str = ""
    ) -> Path:
        """Write a session of a prompt and an answer."""
        path = self.folder.with_name(self.folder.name + folder) / f"{stem or session_id}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        name = f"{session_id}{stem or ''}{folder}"
        lines = make_line(0, session_id=name) + make_line(1, session_id=name, type="assistant", text=text)
        path.write_bytes(
            lines.replace(f'"sessionId":"{name}"'.encode(), f'"sessionId":"{session_id}"'.encode())
        )
        return path

    def sync(self) -> None:
        assert invoke("sync", env=self.env).exit_code == 0

    def run(self, *args: str | Path, stdin: bytes = b"") -> tuple[int, str, str]:
        """Run a command in the folder to work in."""
        ran = run_here(*args, env=self.env, cwd=self.work, stdin=stdin)
        return ran.returncode, ran.stdout.decode(), ran.stderr.decode()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


# usage


@pytest.mark.parametrize("by", ["daily", "tool", "blocks"])
def test_usage_of_days_without_answers_says_which_days_have_some(machine: Machine, by: str) -> None:
    machine.write("one")
    machine.sync()
    status, out, err = machine.run("usage", by, "--since", "2026-05-01")
    assert (status, out) == (1, "")
    assert err == (
        f"turnlog: no answers from a model in the archive since 2026-05-01; there are answers on {DAY}\n"
    )
    status, out, err = machine.run("usage", by, "--since", "yesterday", "--json")
    assert status == 1
    assert json.loads(out)["available"] == {"since": DAY, "until": DAY}
    status, out, err = machine.run("usage", by, "--since", DAY, "--json")
    assert status == 0
    assert json.loads(out)["available"] is None


def test_usage_counts_the_day_that_is_named_first_and_the_one_that_is_named_last(machine: Machine) -> None:
    machine.write("one")
    machine.sync()
    assert machine.run("usage", "--since", DAY)[0] == 0
    assert machine.run("usage", "--until", DAY)[0] == 0
    _, _, err = machine.run("usage", "--until", "2026-01-01")
    assert "in the archive up to 2026-01-01; there are answers on 2026-01-02" in err
    _, _, err = machine.run("usage", "--since", "2026-02-01", "--until", "2026-02-03")
    assert "from 2026-02-01 to 2026-02-03; there are answers on 2026-01-02" in err


def test_usage_of_a_project_that_is_not_there_names_it(machine: Machine) -> None:
    path = machine.write("one")
    places: tuple[tuple[str | Path, ...], ...] = ((), ("--path", path))
    for where in places:
        _, _, err = machine.run("usage", *where, "--project", "nowhere")
        assert ", in projects with 'nowhere' in their path\n" in err


# show, validate and export read standard input


def test_show_reads_standard_input(machine: Machine) -> None:
    data = machine.write("one", "what the model said").read_bytes()
    status, out, err = machine.run("show", "-", stdin=data)
    assert (status, err) == (0, "")
    assert "what the model said" in out
    document = json.loads(machine.run("show", "-", "--json", stdin=data)[1])
    assert [message["text"] for message in document["messages"]] == ["hello", "what the model said"]
    assert machine.run("show", "-", "--raw", stdin=data)[1].encode() == data
    assert machine.run("show", "-", "--turns", stdin=data)[0] == 0
    assert machine.run("show", "-") == (1, "", "turnlog: standard input: no lines\n")


def test_validate_reads_standard_input_beside_files(machine: Machine) -> None:
    path = machine.write("one")
    data = path.read_bytes()
    assert machine.run("validate", "-", stdin=data)[:2] == (0, "1 file, 2 lines: no problems\n")
    assert machine.run("validate", path, "-", stdin=data)[:2] == (0, "2 files, 4 lines: no problems\n")
    status, out, _ = machine.run("validate", "-", "--json", stdin=data + b"{broken\n")
    assert status == 1
    [file] = json.loads(out)["files"]
    assert (file["path"], file["lines"], file["counts"]["error"]) == ("standard input", 3, 1)
    assert machine.run("validate", "-") == (1, "", "turnlog: no lines in standard input\n")


def test_export_reads_standard_input(machine: Machine) -> None:
    data = machine.write("one", "what the model said").read_bytes()
    status, out, _ = machine.run("export", "-", "--format", "md", "--output", "-", stdin=data)
    assert status == 0
    assert "what the model said" in out
    assert machine.run("export", "-", "--format", "md", stdin=data)[0] == 0
    assert "what the model said" in (machine.work / "standard-input.md").read_text()


# ids


def list_commands(printed: str) -> list[list[str]]:
    return [line.split()[1:] for line in printed.splitlines() if line.strip().startswith("turnlog show ")]


def test_search_prints_commands_that_lead_to_the_hit(machine: Machine) -> None:
    texts = {
        "session-xyz-1": "pigeon one",
        "session-xyz-2": "pigeon two",
        "session-xyz": "pigeon three",
        "s1": "pigeon four",
        "5d1c3f2a-0000-4000-8000-000000000001": "pigeon five",
        "5d1c3f2a-0000-4000-8000-000000000002": "pigeon six",
        "7e2d4a1b-0000-4000-8000-000000000003": "pigeon seven",
    }
    for session_id, text in texts.items():
        machine.write(session_id, text)
    machine.write("same-id", "pigeon eight")
    machine.write("same-id", "pigeon nine", folder="-copy")
    machine.write("same-id", "pigeon ten", stem="checkpoint")
    machine.sync()
    printed = machine.run("search", "pigeon")[1]
    commands = list_commands(printed)
    assert len(commands) == len(texts) + 3
    shown = [invoke(*command, "--context", "0", env=machine.env).stdout for command in commands]
    hits = [line.strip() for line in printed.splitlines() if line.strip().startswith("pigeon")]
    assert [hit in text for hit, text in zip(hits, shown, strict=True)] == [True] * len(commands)
    names = {command[1] for command in commands}
    assert {"session-xyz-1", "s1", "7e2d4a1b", "5d1c3f2a-0000-4000-8000-000000000001"} <= names
    # It works as well where only one of them is found.
    for text in ("one", "five", "nine"):
        [command] = list_commands(invoke("search", "pigeon", text, env=machine.env).stdout)
        assert f"pigeon {text}" in invoke(*command, "--context", "0", env=machine.env).stdout


def test_an_id_that_a_shell_or_a_command_would_take_for_something_else_is_not_printed(machine: Machine) -> None:
    machine.write("-x; rm y", "pigeon", stem="odd")
    machine.sync()
    [command] = list_commands(machine.run("search", "pigeon")[1])
    assert len(command[1]) == 8
    assert "pigeon" in machine.run(*command)[1]


def test_a_list_on_a_terminal_shows_ids_that_commands_know(machine: Machine) -> None:
    machine.write("session-xyz-1")
    machine.write("session-xyz-2")
    machine.write("same-id")
    machine.write("same-id", "another", folder="-copy")
    machine.sync()
    text = show_in_terminal("sessions", "--no-color", "--no-pager", env=machine.env).text
    names = [line.split()[0] for line in text.splitlines() if "hello" in line]
    assert {"session-xyz-1", "session-xyz-2"} < set(names)
    assert [invoke("show", name, env=machine.env).exit_code for name in names] == [0] * 4
    [alone] = [
        line.split()[0]
        for line in show_in_terminal(
            "sessions", "--session", "session-xyz-1", "--no-color", "--no-pager", env=machine.env
        ).text.splitlines()
        if "hello" in line
    ]
    assert alone == "session-xyz-1"


def test_a_short_id_is_enough_over_http_as_on_the_command_line(machine: Machine) -> None:
    machine.write("s1", "the one")
    machine.write("s12", "another")
    machine.write("x")
    machine.sync()
    assert "the one" in machine.run("show", "s1")[1]
    with serving(machine.place / "archive") as served:
        assert served.get("/api/sessions/s1").json["session"]["session_id"] == "s1"
        assert served.get("/api/sessions/x/messages").status == 200
        assert served.get("/api/sessions/s").status == 404


# folders, and sessions that share an id


def test_a_folder_with_the_name_of_a_session_is_not_taken_for_it(machine: Machine) -> None:
    machine.write("s1", "what was said")
    machine.sync()
    (machine.work / "s1").mkdir()
    assert "what was said" in machine.run("show", "s1")[1]
    assert machine.run("export", "s1", "--format", "md")[0] == 0
    assert "what was said" in (machine.work / "s1.md").read_text()
    (machine.work / "s2").mkdir()
    status, _, err = machine.run("show", "s2")
    assert (status, err) == (2, "turnlog: s2 is a folder, and no archived session begins with it\n")


def test_a_file_is_meant_before_a_session(machine: Machine) -> None:
    machine.write("s1", "archived")
    machine.sync()
    (machine.work / "s1").write_bytes(machine.write("other", "in the file").read_bytes())
    assert "in the file" in machine.run("show", "s1")[1]


def test_sessions_that_share_an_id_get_files_of_their_own(machine: Machine) -> None:
    machine.write("same-id", "the first")
    machine.write("same-id", "the copy", folder="-copy")
    machine.write("same-id", "the checkpoint", stem="checkpoint")
    machine.write("other")
    machine.sync()
    status, out, err = machine.run("export", "same-id", "other", "--format", "md", "--output", "out")
    assert status == 0
    assert err == "turnlog: 3 sessions have the id same-id; each of them is exported\n"
    files = sorted((machine.work / "out").iterdir())
    assert [file.name for file in files] == ["other.md", "same-id-2.md", "same-id-3.md", "same-id.md"]
    assert all(f"out/{file.name}" in out for file in files)
    told = "".join(file.read_text() for file in files)
    assert all(text in told for text in ("the first", "the copy", "the checkpoint"))


def test_an_export_that_would_overwrite_a_file_writes_none(machine: Machine) -> None:
    machine.write("one")
    machine.write("two")
    machine.sync()
    (machine.work / "two.md").write_text("mine")
    status, _, err = machine.run("export", "one", "two", "--format", "md")
    assert (status, err) == (2, "turnlog: two.md: it already exists; --force overwrites it\n")
    assert [file.name for file in machine.work.iterdir()] == ["two.md"]
    assert machine.run("export", "one", "two", "--format", "md", "--force")[0] == 0
    assert (machine.work / "two.md").read_text() != "mine"


def test_sessions_that_share_an_id_do_not_fit_into_one_file(machine: Machine) -> None:
    machine.write("same-id")
    machine.write("same-id", "the copy", folder="-copy")
    machine.sync()
    status, _, err = machine.run("export", "same-id", "--format", "md", "--output", "out.md")
    assert status == 2
    assert "out.md: one file cannot hold them all; name a folder, or one of " in err
    assert not [*machine.work.iterdir()]
    status, out, _ = machine.run("export", "same-id", "--format", "md", "--output", "-")
    assert status == 0
    assert "an answer" in out
    assert "the copy" in out


def test_files_of_sessions_that_share_a_name_are_given_back_beside_each_other(machine: Machine) -> None:
    paths = [
        machine.write("same-id", "the first"),
        machine.write("same-id", "the copy", folder="-copy"),
        machine.write("same-id", "the checkpoint", stem="checkpoint"),
    ]
    machine.sync()
    for _ in range(2):
        assert machine.run("export", "same-id", "--raw", "--output", "out")[0] == 0
    given = [path for path in (machine.work / "out").rglob("*") if path.is_file()]
    assert {path.read_bytes() for path in given} == {path.read_bytes() for path in paths}
    assert len(given) == len(paths)
