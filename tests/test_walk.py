"""The way of a line, as CONTRIBUTING.md tells it, is the way that it goes."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType

from command_line import invoke
from server_app import serving

ROOT = Path(__file__).parents[1]
STEP = re.compile(r"^(\d+)\. `([\w/.-]+)`: `([\w.]+)`", re.MULTILINE)
LINE = '{"type":"user","uuid":"u1","message":{"role":"user","content":"Where is the kettle?"}}\n'


def list_steps() -> list[tuple[str, str]]:
    page = (ROOT / "CONTRIBUTING.md").read_text()
    steps = STEP.findall(page[page.index("## The way of a line") : page.index("## The way of a hook event")])
    assert [number for number, _, _ in steps] == [str(number) for number in range(1, len(steps) + 1)]
    return [(file, name) for _, file, name in steps]


def trace(work: Callable[[], object], wanted: set[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return which functions were called meanwhile, in all threads that began then, in order."""
    known: dict[CodeType, tuple[str, str]] = {}
    called: list[tuple[str, str]] = []

    def look(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call":
            if code not in known:
                known[code] = code.co_filename.rpartition("/src/turnlog/")[2], code.co_qualname
            if known[code] in wanted:
                called.append(known[code])

    threading.setprofile(look)
    sys.setprofile(look)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return called


def test_a_line_goes_the_way_that_is_told(tmp_path: Path) -> None:
    *steps, (page, component) = list_steps()
    assert len(steps) < 12
    project = tmp_path / "claude" / "projects" / "-p"
    project.mkdir(parents=True)
    (project / "5e551011-0000-4000-8000-000000000001.jsonl").write_text(LINE)
    home = tmp_path / "turnlog"

    def work() -> None:
        env = {"TURNLOG_HOME": str(home), "CLAUDE_CONFIG_DIR": str(tmp_path / "claude")}
        assert invoke("sync", env=env).exit_code == 0
        with serving(home) as served:
            allowed = {"Authorization": f"Bearer {served.keeper.token}"}
            [session] = served.ask("GET", "/api/sessions", allowed).json["items"]
            window = served.ask("GET", f"/api/sessions/{session['key']}/messages", allowed)
            assert window.json["total"] == 1

    called = iter(trace(work, set(steps)))
    assert [step for step in steps if step not in called] == []
    assert re.search(rf"^export (const|function) {component}\b", (ROOT / page).read_text(), re.MULTILINE)
