"""What a command loads before it answers: counted in modules, since time depends on the machine."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from command_line import environment, run

HEAVY = (
    "asyncio", "concurrent", "ctypes", "email", "fractions", "genai_prices", "getpass", "http", "litestar",
    "logging", "multiprocessing", "psycopg", "pydantic", "random", "rich", "secrets", "ssl",
    "subprocess", "tempfile", "tomllib", "urllib.request", "watchfiles", "xml", "zoneinfo",
    "turnlog.export.documents", "turnlog.ingest.derivation", "turnlog.ingest.pipeline",
    "turnlog.ingest.spool_import", "turnlog.integrations", "turnlog.messages.codec",
    "turnlog.messages.entries", "turnlog.server", "turnlog.transcripts.lines.passage_readers",
    "turnlog.transcripts.session",
)  # fmt: skip
"""What none of them needs when there is nothing to derive, to price or to draw."""
OWN = 62
"""How many modules of ours a command may load. Each takes a third of a millisecond, so they add up."""
ALL = 202
"""With those of others; Python's own versions differ by some."""
SAID = b'{"session_id": "s-1", "model": {"display_name": "Opus"}}'
COMMANDS = {
    "help": (["--help"], 0, 5, 112),
    "sessions": (["sessions"], 0, OWN, ALL),
    "projects": (["projects"], 0, OWN, ALL),
    "search": (["search", "kettle"], 0, OWN, ALL),
    "search of tool output": (["search", "kind:tool-output", "boiling"], 0, OWN, ALL),
    "search for nothing": (["search", "nowhere"], 1, OWN, ALL),
    "search for a title": (["search", "teatime"], 0, OWN, ALL),
    "search for a hook": (["search", "whistle"], 0, OWN, ALL),
    "search for what a hook said": (["search", "descaled"], 0, OWN, ALL),
    "search for a notice": (["search", "meanwhile"], 0, OWN, ALL),
    "usage": (["usage"], 0, 66, 207),
    "status": (["status"], 0, 66, 213),
    "statusline": (["statusline"], 0, 58, 199),
    "sync": (["sync"], 0, 64, 205),
}
"""By name: the arguments, the exit status, and how many modules may be loaded, of ours and in all."""


class Archive(NamedTuple):
    """An archive that has all there is."""

    env: Mapping[str, str]
    config: Path


def line(kind: str, content: object, **more: object) -> bytes:
    known = {
        "sessionId": "s-1",
        "uuid": f"u-{content}"[:40],
        "timestamp": "2026-03-01T12:00:00.000Z",
        "cwd": "/tea",
    }
    message = {"role": kind, "content": content, **more}
    return json.dumps({"type": kind, **known, "message": message}).encode() + b"\n"


def beside(kind: str, **more: object) -> bytes:
    known = {"sessionId": "s-1", "uuid": f"u-{kind}", "timestamp": "2026-03-01T12:00:01.000Z", "cwd": "/tea"}
    return json.dumps({"type": kind, **known, **more}).encode() + b"\n"


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Archive:
    home, config = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("claude")
    path = config / "projects" / "-tea" / "s-1.jsonl"
    path.parent.mkdir(parents=True)
    call = {"type": "tool_use", "id": "t-1", "name": "Pour", "input": {"what": "kettle"}}
    usage = {"input_tokens": 5, "output_tokens": 3}
    path.write_bytes(
        line("user", "Put the kettle on.")
        + line("assistant", [call], id="m-1", model="claude-opus-5", usage=usage, stop_reason="tool_use")
        + line("user", [{"type": "tool_result", "tool_use_id": "t-1", "content": "boiling"}])
        + b'{"type":"ai-title","aiTitle":"Teatime","sessionId":"s-1"}\n'
        + beside("attachment", attachment={"type": "hook_success", "hookName": "Stop", "stdout": "descaled"})
        + beside("system", subtype="away_summary", content="The tea is ready meanwhile.")
    )
    spool = home / "spool"
    spool.mkdir()
    told = {"hook_event_name": "Notification", "session_id": "s-1", "message": "The whistle blows"}
    (spool / "1772366400000000000-abc.json").write_text(json.dumps(told))
    env = {"TURNLOG_HOME": str(home), "CLAUDE_CONFIG_DIR": str(config)}
    assert run("sync", env=env).returncode == 0
    return Archive(env, config)


def list_loaded(archive: Archive, args: list[str], status: int) -> set[str]:
    """Run a command, and return the modules that were loaded for it."""
    ran = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "turnlog", *args],
        input=SAID,
        capture_output=True,
        env=environment(archive.env),
        check=False,
    )
    assert ran.returncode == status, ran.stderr.decode()
    told = [each for each in ran.stderr.decode().splitlines() if each.startswith("import time:")]
    return {each.rpartition("|")[2].strip() for each in told[1:]}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_loads_what_it_needs(archive: Archive, name: str) -> None:
    args, status, own, everything = COMMANDS[name]
    loaded = list_loaded(archive, args, status)
    assert not {each for each in loaded for heavy in HEAVY if f"{each}.".startswith(f"{heavy}.")}
    ours = sorted(each for each in loaded if each.startswith("turnlog"))
    assert len(ours) <= own, ours
    assert len(loaded) <= everything, sorted(loaded)


def test_an_export_that_nobody_watches_loads_no_prices_that_are_known(archive: Archive, tmp_path: Path) -> None:
    new = archive._replace(env={**archive.env, "TURNLOG_HOME": str(tmp_path / "home")})
    [path] = archive.config.glob("projects/*/*.jsonl")
    export = ["export", str(path), "--format", "html", "--force", "--output", str(tmp_path / "page.html")]
    assert "genai_prices.types" in list_loaded(new, export, 0)
    first = (tmp_path / "page.html").read_bytes()
    loaded = list_loaded(new, export, 0)
    assert not {each for each in loaded if each.partition(".")[0] in ("genai_prices", "pydantic", "rich")}
    assert (tmp_path / "page.html").read_bytes() == first


def test_what_is_new_is_archived_all_the_same(archive: Archive) -> None:
    with (archive.config / "projects" / "-tea" / "s-1.jsonl").open("ab") as file:
        file.write(line("user", "Now pour it."))
    loaded = list_loaded(archive, ["sync"], 0)
    assert "turnlog.ingest.pipeline" in loaded
    assert run("search", '"Now pour it"', env=archive.env).returncode == 0


def test_types_are_there_without_decoders() -> None:
    code = (
        "import msgspec; msgspec.json.Decoder = None; import turnlog.messages.codec, turnlog.messages.tool_io"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
