"""A small archive for tests of the API: the sample sessions, and a few with all that is odd."""

from __future__ import annotations

import json
import os
from base64 import b64encode
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from turnlog.demo import install
from turnlog.ingest.pipeline import sync
from turnlog.store.interface import MaintainedStore
from turnlog.transcripts import locate_sessions

NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)
BEGINS = datetime(2026, 3, 1, 9, tzinfo=UTC)

ODD = "0dd00000-0000-4000-8000-000000000001"
"""Glued and broken lines, halves of characters, bytes that are no text, unknown blocks and lines."""
IMAGES = "1ca9e500-0000-4000-8000-000000000002"
OFFLOADED = "0ff10aded-a-result-in-a-file"
INLINE = "51dec4a1-0000-4000-8000-000000000004"
"""A sub-agent that speaks in the transcript."""
BRANCHES = "b4a2c8e5-0000-4000-8000-000000000005"
HOMELESS = "40000e1e-0000-4000-8000-000000000006"
"""No line says where it worked."""
COPIED = "c0b1ed00-0000-4000-8000-000000000007"
"""There are two of them."""
UNSPELLABLE = b"caf\xe9-not-utf-8"
"""How a file is called."""
TOOLS = "700150e0-0000-4000-8000-000000000008"
"""As in spec 003: says something, calls tools, goes on."""

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360000002000001e221bc330000000049454e44ae426082"
)
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
LONG_RESULT = "".join(f"{number}: a line that is kept apart\n" for number in range(5000)).encode()


class Writer:
    """Writes lines as Claude Code would, one second after the other."""

    def __init__(self, session: str, *, cwd: str | None = "/home/ada/odd") -> None:
        self._session = session
        self._cwd = cwd
        self.parent: str | None = None
        self._count = 0
        self.data = b""

    def user(self, content: Any, **more: Any) -> str:
        return self._tell("user", {"role": "user", "content": content}, more)

    def answer(self, *blocks: Any, id: str | None = None, **more: Any) -> str:
        message = {
            "id": id or f"msg_{self._session[:8]}_{self._count}",
            "type": "message",
            "role": "assistant",
            "model": "claude-sonnet-4-5",
            "content": list(blocks),
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 10, "output_tokens": 100},
        }
        return self._tell("assistant", message, more)

    def result(self, id: str, content: Any, **more: Any) -> str:
        failed = {"is_error": True} if more.pop("failed", False) else {}
        return self.user([{"type": "tool_result", "tool_use_id": id, "content": content} | failed], **more)

    def raw(self, data: bytes) -> None:
        self.data += data

    def _tell(self, kind: str, message: Any, more: dict[str, Any]) -> str:
        self._count += 1
        uuid = more.pop("uuid", f"{self._session[:8]}-0000-4000-9000-{self._count:012d}")
        time = (BEGINS + timedelta(seconds=self._count)).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        end = more.pop("end", "\n")
        line = {"parentUuid": self.parent, "isSidechain": False, "userType": "external"}
        line |= {} if self._cwd is None else {"cwd": self._cwd}
        line |= {"sessionId": self._session, "version": "2.1.150", "gitBranch": "main", "type": kind}
        line |= {"message": message, "uuid": uuid, "timestamp": time} | more
        self.data += (json.dumps(line, separators=(",", ":")) + end).encode()
        self.parent = uuid
        return str(uuid)


def say(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def call(id: str, name: str = "Bash", **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": given}


def picture(data: bytes, kind: str = "image/png") -> dict[str, Any]:
    source = {"type": "base64", "media_type": kind, "data": b64encode(data).decode()}
    return {"type": "image", "source": source}


def write_files(config: Path) -> None:
    """Write all sessions below a folder that then is a `CLAUDE_CONFIG_DIR`."""
    install(config, NOW)
    projects = config / "projects"
    for session, data in {
        ODD: _write_odd(),
        IMAGES: _write_images(),
        OFFLOADED: _write_offloaded(projects),
        INLINE: _write_inline(),
        BRANCHES: _write_branches(),
        TOOLS: _write_tools(),
        COPIED: _write_copied("/home/ada/odd"),
    }.items():
        _write(projects / "-home-ada-odd" / f"{session}.jsonl", data)
    _write(projects / "-home-ada-nowhere" / f"{HOMELESS}.jsonl", _write_copied(None, HOMELESS))
    _write(projects / "-home-ada-other" / f"{COPIED}.jsonl", _write_copied("/home/ada/other") * 2)
    strange = projects / "-home-ada-odd" / os.fsdecode(UNSPELLABLE + b".jsonl")
    _write(strange, b'{"type":"user","uuid":"u","message":{"role":"user","content":"Who am I?"}}\n')


def fill(store: MaintainedStore, place: Path, config: Path) -> None:
    """Write all sessions, and sync them."""
    write_files(config)
    sync(store, place, locate_sessions([config]).sessions, origin="test")


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _write_odd() -> bytes:
    to = Writer(ODD)
    to.user("Half an emoji \ud83d and a null \x00", uuid="not-a-uuid \ud83d")
    to.answer(say("First."), end="")  # glued: no newline between two lines
    to.user("Second, on the same line")
    to.raw(b"{broken\n")
    to.raw(b"not JSON at all\n")
    to.answer(
        {"type": "hologram", "data": "unknown \ud83d"},
        call("toolu_odd \ud83d", "Ba\ud83dsh", command="echo \ud83d"),
        model="x",
    )
    to.result("toolu_odd \ud83d", "out \ud83d", toolUseResult={"stdout": "out \ud83d"})
    to.raw(b'{"type":"user","uuid":"bytes","message":{"role":"user","content":"caf\xe9"}}\n')
    to.raw(b'{"type":"something-new","uuid":"new","deep":{"a":[1]}}\n')
    to.answer(say("Last."))
    return to.data


def _write_images() -> bytes:
    to = Writer(IMAGES)
    to.user([say("What is this?"), picture(PIXEL), picture(SVG, "image/svg+xml")])
    to.answer(say("A pixel. Another look:"), call("toolu_look", "Read", file_path="/home/ada/odd/a.png"))
    to.result("toolu_look", [say("read"), picture(PIXEL, "image/webp")])
    elsewhere = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
    to.user([say("And this?"), elsewhere])
    return to.data


def _write_offloaded(projects: Path) -> bytes:
    to = Writer(OFFLOADED)
    to.user("Print a lot")
    to.answer(call("toolu_long", command="seq 5000"))
    kept = f"/somewhere/else/{OFFLOADED}/tool-results/toolu_long.txt"
    text = f"<persisted-output>\nOutput too large. Full output saved to: {kept}\n\nPreview:\n0\n"
    to.result("toolu_long", text, toolUseResult={"stdout": "0", "persistedOutputPath": kept})
    to.answer(say("Done."))
    beside = projects / "-home-ada-odd" / OFFLOADED
    _write(beside / "tool-results" / "toolu_long.txt", LONG_RESULT)
    return to.data


def _write_inline() -> bytes:
    to = Writer(INLINE)
    to.user("Look into it")
    to.answer(say("I send somebody."), call("toolu_task", "Task", prompt="Find out", subagent_type="Explore"))
    main = to.parent
    to.parent = None
    agent: dict[str, Any] = {"isSidechain": True, "agentId": "a1b2c3d"}
    to.user("Find out", **agent)
    to.answer(say("I looked."), call("toolu_grep", "Grep", pattern="x"), **agent)
    to.result("toolu_grep", "x.py", **agent)
    to.answer(say("It is x.py."), **agent)
    to.parent = main
    to.result("toolu_task", "It is x.py.", toolUseResult={"agentId": "a1b2c3d", "status": "completed"})
    to.answer(say("It is in x.py."))
    return to.data


def _write_branches() -> bytes:
    to = Writer(BRANCHES)
    to.user("Which tea?")
    root = to.answer(say("Assam or Darjeeling."))
    to.user("Assam")
    to.answer(say("Milk?"))
    to.parent = root
    to.user("Darjeeling")
    to.answer(say("No milk."))
    return to.data


def _write_tools() -> bytes:
    to = Writer(TOOLS)
    to.user("Compare config.json and package.json")
    to.answer(say("I'll read both files."))
    to.answer(call("toolu_a", "Read", file_path="/home/ada/odd/config.json"))
    to.result("toolu_a", '{"port": 3000}')
    to.answer(call("toolu_b", "Read", file_path="/home/ada/odd/package.json"))
    to.result("toolu_b", "no such file", failed=True)
    to.answer(say("Here is the comparison."))
    to.user("Thanks!")
    return to.data


def _write_copied(cwd: str | None, session: str = COPIED) -> bytes:
    to = Writer(session, cwd=cwd)
    to.user("Say hello")
    to.answer(say("Hello."))
    return to.data
