"""Sample sessions of our own, for people who have none yet: made up, and some of them played live.

A play calls a stage step by step; the stage keeps the time, the ids and the token counts. Everything follows
from the play and from when it begins, so the same play gives the same lines. `install` puts the sessions where
turnlog finds them, and `play_live` writes what is still to come.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

from turnlog.ingest.spool import SPOOL
from turnlog.instants import to_microseconds
from turnlog.transcripts.session_files import project_folder_name

_SPACE = UUID("6f1d3c1e-6f0b-5e0a-9f3e-0d5a4d2b7c11")
_VERSION = "2.1.325"
_CONTEXT = 14_200
"""Tokens that every session begins with."""


class Stage:
    """One file of lines in the making."""

    def __init__(
        self,
        name: str,
        *,
        project: str,
        begins: datetime,
        model: str = "claude-opus-4-5",
        branch: str = "main",
        agent_id: str | None = None,
        of: Stage | None = None,
    ) -> None:
        """Begin; `name` tells plays apart, `of` is the stage whose session a sub-agent's file belongs to."""
        self.name = name
        self.project = project
        self.branch = branch
        self.model = model
        self.now = begins
        self.session_id: str = str(uuid5(_SPACE, name)) if of is None else of.session_id
        self.agent_id = agent_id
        self.lines: list[tuple[datetime, bytes]] = []
        """Each with when it is written."""
        self.hooks: list[tuple[datetime, bytes]] = []
        """What hooks were told, each with when."""
        self.agents: list[tuple[Stage, dict[str, Any]]] = []
        """Stages of sub-agents, with what lies beside their files."""
        self._count = 0
        self._answers = 0
        self._context = _CONTEXT
        self._parent: str | None = None
        self._answer: tuple[str, int] | None = None

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.now += timedelta(seconds=seconds)

    def hook(self, event: str, **told: object) -> None:
        """Deliver an event to a hook."""
        base = {"session_id": self.session_id, "cwd": self.project, "permission_mode": "default"}
        payload = {**base, "hook_event_name": event, **told}
        self.hooks.append((self.now, json.dumps(payload).encode()))

    def title(self, text: str) -> None:
        """Name the session, as the program does by itself."""
        self._write({"type": "ai-title", "aiTitle": text, "sessionId": self.session_id})

    def prompt(self, text: str, *, after: float = 20.0, behind: str | None = None) -> str:
        """Type a prompt; `behind` an earlier line it is an edited one, and begins a branch."""
        self.wait(after)
        if behind is not None:
            self._parent = behind
        self._answer = None
        self._context += _tokens(text)
        message = {"role": "user", "content": text}
        return self._write_message({"type": "user", "message": message, "permissionMode": "default"})

    @property
    def last(self) -> str | None:
        """The uuid of the last line."""
        return self._parent

    def think(self, text: str, *, after: float = 3.0) -> None:
        """Think aloud; what the model thinks belongs to the answer that follows."""
        self._write_answer([{"type": "thinking", "thinking": text, "signature": ""}], after)

    def say(self, text: str, *, after: float = 4.0, ends: bool = True) -> None:
        """Answer; unless it `ends`, calls follow in the same answer."""
        self._write_answer([{"type": "text", "text": text}], after, stop="end_turn" if ends else "tool_use")
        if ends:
            self._answer = None

    def call(
        self,
        tool: str,
        given: Mapping[str, object],
        answer: str | None,
        *,
        took: float = 0.4,
        failed: bool = False,
        details: object = None,
        agent: Stage | None = None,
    ) -> str:
        """Call a tool, and return the call's id; without an `answer` it is running, or waits for somebody."""
        number = self._count
        identity = f"toolu_{uuid5(_SPACE, f'{self._key()}/{number}').hex[:24]}"
        self._write_answer(
            [{"type": "tool_use", "id": identity, "name": tool, "input": dict(given)}], 1.2, stop="tool_use"
        )
        asked = self._parent
        self._answer = None
        if agent is not None:
            self.agents.append((agent, {"agentType": given.get("subagent_type"), "toolUseId": identity}))
            self.now = max(self.now, agent.now)
        if answer is None:
            return identity
        self.wait(took)
        self._context += _tokens(answer)
        block = {"tool_use_id": identity, "type": "tool_result", "content": answer} | (
            {"is_error": True} if failed else {}
        )
        line: dict[str, object] = {"type": "user", "message": {"role": "user", "content": [block]}}
        if details is not None or failed:
            line["toolUseResult"] = f"Error: {answer}" if failed else details
        self._write_message(line | {"sourceToolAssistantUUID": asked})
        return identity

    def agent(self, kind: str, begins: datetime) -> Stage:
        """Return the stage of a sub-agent; `call` with it as `agent` when it is done."""
        identity = uuid5(_SPACE, f"{self._key()}/agent/{kind}/{len(self.agents)}").hex[:17]
        return Stage(
            f"{self.name}/{identity}",
            project=self.project,
            begins=begins,
            model=self.model,
            branch=self.branch,
            agent_id=identity,
            of=self,
        )

    def interrupt(self) -> None:
        """Press Esc."""
        text = {"type": "text", "text": "[Request interrupted by user]"}
        self._write_message({"type": "user", "message": {"role": "user", "content": [text]}})
        self._answer = None

    def compact(self, summary: str, tokens: int) -> None:
        """Make the conversation shorter."""
        metadata = {"trigger": "auto", "preTokens": tokens}
        logical, self._parent = self._parent, None
        self._write_message(
            {
                "type": "system",
                "subtype": "compact_boundary",
                "content": "Conversation compacted",
                "level": "info",
                "logicalParentUuid": logical,
                "compactMetadata": metadata,
            }
        )
        self._context = _CONTEXT + _tokens(summary)
        self._write_message(
            {
                "type": "user",
                "message": {"role": "user", "content": summary},
                "isCompactSummary": True,
                "isVisibleInTranscriptOnly": True,
            }
        )

    def _write_answer(self, blocks: list[dict[str, object]], after: float, stop: str | None = None) -> None:
        """Write a line of an answer: one block each, all under the id of the answer."""
        self.wait(after)
        spoken = sum(_tokens(json.dumps(block)) for block in blocks)
        if self._answer is None:
            self._answers += 1
            self._answer = f"msg_{uuid5(_SPACE, f'{self._key()}/answer/{self._answers}').hex[:24]}", 0
        identity, before = self._answer
        output = before + spoken
        self._answer = identity, output
        fresh = 900 + self._context % 700
        usage = {
            "input_tokens": 6,
            "cache_creation_input_tokens": fresh,
            "cache_read_input_tokens": self._context,
            "cache_creation": {"ephemeral_5m_input_tokens": fresh, "ephemeral_1h_input_tokens": 0},
            "output_tokens": output,
            "service_tier": "standard",
        }
        message = {
            "id": identity,
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": blocks,
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": usage,
        }
        self._context += spoken
        self._write_message({"type": "assistant", "message": message, "requestId": f"req_{identity[4:]}"})

    def _write_message(self, line: dict[str, object]) -> str:
        """Write a line with the envelope that lines of a conversation have."""
        uuid = str(uuid5(_SPACE, f"{self._key()}/line/{self._count}"))
        envelope: dict[str, object] = {
            "parentUuid": self._parent,
            "isSidechain": self.agent_id is not None,
            "userType": "external",
            "cwd": self.project,
            "sessionId": self.session_id,
            "version": _VERSION,
            "gitBranch": self.branch,
        }
        if self.agent_id is not None:
            envelope["agentId"] = self.agent_id
        self._write(envelope | line | {"uuid": uuid, "timestamp": _time(self.now)})
        self._parent = uuid
        return uuid

    def _write(self, line: dict[str, object]) -> None:
        self._count += 1
        self.lines.append((self.now, json.dumps(line, ensure_ascii=False).encode() + b"\n"))

    def _key(self) -> str:
        return self.name


def _tokens(text: str) -> int:
    return max(1, len(text) // 4)


def _time(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


_ORCHARD = "/home/robin/code/orchard"
_NOTES = "/home/robin/code/field-notes"

_FAILURE = """\
Exit code 1
============================= test session starts ==============================
collected 64 items

tests/test_harvest.py ......F.....                                       [ 18%]
tests/test_trees.py ....................................................  [100%]

=================================== FAILURES ===================================
_________________________ test_week_starts_on_monday ___________________________

    def test_week_starts_on_monday():
>       assert week_of(date(2025, 12, 29)) == (2026, 1)
E       assert (2025, 1) == (2026, 1)

tests/test_harvest.py:41: AssertionError
=========================== short test summary info ============================
FAILED tests/test_harvest.py::test_week_starts_on_monday
========================= 1 failed, 63 passed in 1.87s ========================="""

_PASSED = """\
============================= test session starts ==============================
collected 64 items

tests/test_harvest.py ............                                       [ 18%]
tests/test_trees.py ....................................................  [100%]

============================== 64 passed in 1.79s =============================="""

_WEEKS = """\
     1→\"\"\"Weeks of the harvest calendar.\"\"\"
     2→
     3→from datetime import date
     4→
     5→
     6→def week_of(day: date) -> tuple[int, int]:
     7→    \"\"\"Return the year and the number of the week that a day is in.\"\"\"
     8→    return day.year, day.isocalendar().week
     9→
    10→
    11→def label(day: date) -> str:
    12→    year, week = week_of(day)
    13→    return f"{year}-W{week:02d}\""""


def fix_flaky_test(now: datetime) -> Stage:
    """Show how a test that fails only in late December is mended."""
    stage = Stage("flaky", project=_ORCHARD, begins=now - timedelta(hours=3), branch="fix/harvest-weeks")
    stage.prompt(
        "test_week_starts_on_monday fails on CI since yesterday, but I did not touch it. Can you find out why?"
    )
    stage.say("I'll run the test first, and look at what it covers.", ends=False)
    stage.call(
        "Bash", {"command": "pytest -q", "description": "Run all tests"}, _FAILURE, took=3.1, failed=True
    )
    stage.call("Read", {"file_path": f"{_ORCHARD}/orchard/weeks.py"}, _WEEKS, took=0.1)
    stage.think(
        "isocalendar() has its own year: 2025-12-29 is in week 1 of 2026. day.year is the calendar's year, so in the "
        "last days of December the pair does not belong together."
    )
    stage.say(
        "The function pairs the year of the **calendar** with the number of the **ISO week**. Around New Year these "
        "two disagree: 29 December 2025 is in week 1 of *2026*. So the test is right, and it only ever fails in the "
        "last days of a year.",
        ends=False,
    )
    stage.call(
        "Edit",
        {
            "file_path": f"{_ORCHARD}/orchard/weeks.py",
            "old_string": "    return day.year, day.isocalendar().week",
            "new_string": "    year, week, _ = day.isocalendar()\n    return year, week",
        },
        f"The file {_ORCHARD}/orchard/weeks.py has been updated.",
        took=0.1,
    )
    stage.call("Bash", {"command": "pytest -q", "description": "Run all tests"}, _PASSED, took=2.9)
    stage.say(
        "Fixed in `orchard/weeks.py`: year and week now both come from `isocalendar()`.\n\n"
        "| day | before | now |\n| --- | --- | --- |\n| 2025-12-29 | 2025-W01 | **2026-W01** |\n"
        "| 2027-01-01 | 2027-W53 | **2026-W53** |\n\nAll 64 tests pass. Labels in old exports that were made in the last "
        "week of a year may be wrong; shall I look for them?"
    )
    stage.title("Fix week numbers around New Year")
    stage.prompt("Yes, but only tell me how many. And add a test for the first of January.", after=140)
    stage.call(
        "Grep",
        {"pattern": r"20\d\d-W(01|52|53)", "path": f"{_ORCHARD}/exports", "output_mode": "count"},
        "exports/2023.csv:4\nexports/2024.csv:2\n\nFound 6 total occurrences across 2 files.",
        took=0.2,
    )
    stage.call(
        "Edit",
        {
            "file_path": f"{_ORCHARD}/tests/test_harvest.py",
            "old_string": "def test_label",
            "new_string": "def test_new_years_day_may_belong_to_the_old_year():\n"
            "    assert week_of(date(2027, 1, 1)) == (2026, 53)\n\n\ndef test_label",
        },
        f"The file {_ORCHARD}/tests/test_harvest.py has been updated.",
        took=0.1,
    )
    stage.call(
        "Bash",
        {"command": "pytest -q tests/test_harvest.py", "description": "Run one file"},
        "13 passed in 0.61s",
        took=1.1,
    )
    stage.say("Six labels in two old exports are wrong. The new test passes.")
    return stage


def speed_up_import(now: datetime) -> Stage:
    """Show a prompt that was edited: two branches, one of them left."""
    stage = Stage("import", project=_ORCHARD, begins=now - timedelta(days=1, hours=2), branch="faster-import")
    stage.prompt("Importing trees.csv takes 40 seconds. Make it faster.")
    stage.say("I'll measure where the time goes before I change anything.", ends=False)
    stage.call(
        "Bash",
        {
            "command": "python -m cProfile -s tottime -m orchard import trees.csv | head -12",
            "description": "Profile",
        },
        "   200000   31.402    0.000   36.118    0.000 db.py:58(insert)\n   200000    2.911    0.000    2.911 csv.py:12(parse)",
        took=41.5,
    )
    stage.say("Nearly all of it is one `INSERT` per row, each in a transaction of its own.")
    before = stage.last
    stage.prompt("Use threads for it.", after=45)
    stage.say(
        "Threads would not help here: SQLite has one writer, so they would wait for each other. Batches would.",
        after=9,
    )
    stage.prompt("Write the rows in batches of 5,000, in one transaction.", after=80, behind=before)
    stage.call(
        "Edit",
        {
            "file_path": f"{_ORCHARD}/orchard/db.py",
            "old_string": "    for row in rows:\n        insert(connection, row)",
            "new_string": "    with connection:\n        for batch in batched(rows, 5_000):\n"
            "            connection.executemany(INSERT, batch)",
        },
        f"The file {_ORCHARD}/orchard/db.py has been updated.",
        took=0.1,
    )
    stage.call(
        "Bash",
        {"command": "time python -m orchard import trees.csv", "description": "Measure again"},
        "200000 trees imported\n\nreal\t0m1.204s\nuser\t0m1.071s\nsys\t0m0.090s",
        took=1.4,
    )
    stage.say("40 s became **1.2 s**: 200,000 rows in 40 batches, one transaction.")
    stage.title("Import trees in batches")
    return stage


def write_release_notes(now: datetime) -> Stage:
    """Show a long conversation that was compacted on the way."""
    stage = Stage(
        "notes",
        project=_NOTES,
        begins=now - timedelta(days=2, hours=5),
        model="claude-sonnet-4-5",
        branch="v2.4",
    )
    stage.prompt("Draft the release notes for 2.4 from the commits since 2.3. For users, not for developers.")
    stage.call(
        "Bash",
        {"command": "git log --oneline v2.3..HEAD", "description": "List commits"},
        "a41c9e2 Offer sketches as SVG\n77d0b1f Keep drafts when the battery dies\n0c93f55 Merge branch 'maps'\n"
        "e5512aa Speed up the map of sightings\n19be004 Fix the German date format",
        took=0.2,
    )
    stage.call(
        "TodoWrite",
        {
            "todos": [
                {"content": "Read the commits", "status": "completed", "activeForm": "Reading the commits"},
                {
                    "content": "Group them by what users notice",
                    "status": "in_progress",
                    "activeForm": "Grouping",
                },
                {"content": "Write the notes", "status": "pending", "activeForm": "Writing"},
            ]
        },
        "Todos have been modified successfully.",
        took=0.1,
    )
    stage.call(
        "WebFetch",
        {"url": "https://keepachangelog.example/", "prompt": "Which sections does a changelog have?"},
        "Added, Changed, Deprecated, Removed, Fixed, Security.",
        took=2.2,
    )
    stage.say(
        "## 2.4\n\n**Added**\n- Sketches can be saved as SVG.\n\n**Changed**\n- The map of sightings opens about three "
        "times as fast.\n\n**Fixed**\n- Drafts survive an empty battery.\n- German dates read 3. März, not 3 März."
    )
    stage.compact(
        "The user asked for release notes of version 2.4 for users. A draft with Added, Changed and Fixed exists; it "
        "names SVG sketches, the faster map, drafts that survive, German dates.",
        155_300,
    )
    stage.prompt("Put the drafts first, people lost work over it. And mention Ana, who reported it.", after=600)
    stage.call(
        "Write",
        {
            "file_path": f"{_NOTES}/NEWS.md",
            "content": "## 2.4\n\n**Fixed**\n- Drafts survive an empty battery. Thanks, Ana!\n",
        },
        f"File created successfully at: {_NOTES}/NEWS.md",
        took=0.1,
    )
    stage.say("Done: `NEWS.md` begins with the drafts, and thanks Ana.")
    stage.title("Release notes for 2.4")
    return stage


_HARBOR = "/home/robin/code/harbor-api"

_LOGIN = """\
     1→import { Router } from "./router";
     2→import { verify } from "./passwords";
     3→
     4→export const login = new Router().post("/login", async (request) => {
     5→  const { name, password } = await request.json();
     6→  const user = await verify(name, password);
     7→  return user ? request.session.open(user) : new Response(null, { status: 401 });
     8→});"""


def add_rate_limit(now: datetime) -> Stage:
    """Show a plan, a sub-agent, edits and tests, the second half of them live."""
    stage = Stage("limit", project=_HARBOR, begins=now - timedelta(minutes=4), branch="login-limit")
    stage.prompt(
        "Somebody tries passwords at /login. Limit it to 5 attempts a minute for each address.", after=0
    )
    stage.think("I should find out whether there is a store for counters already, before adding one.")
    stage.say("I'll look for what is already there before I add anything.", ends=False)
    agent = stage.agent("Explore", stage.now + timedelta(seconds=2))
    agent.prompt("Find middleware and shared counters in harbor-api. Report files and what they do.", after=0)
    agent.call(
        "Glob",
        {"pattern": "src/**/*.ts"},
        "src/router.ts\nsrc/login.ts\nsrc/counters.ts\nsrc/passwords.ts",
        took=0.2,
    )
    agent.call(
        "Grep", {"pattern": "counter", "path": "src"}, "src/counters.ts:1:export class Counters {", took=0.3
    )
    agent.say(
        "`src/counters.ts` has `Counters` with `increase(key, seconds)`, kept in memory. No middleware uses it yet."
    )
    stage.call(
        "Agent",
        {
            "description": "Find counters",
            "prompt": "Find middleware and shared counters in harbor-api. Report files and what they do.",
            "subagent_type": "Explore",
        },
        "`src/counters.ts` has `Counters` with `increase(key, seconds)`, kept in memory. No middleware uses it yet.",
        took=0.5,
        agent=agent,
    )
    stage.call("Read", {"file_path": f"{_HARBOR}/src/login.ts"}, _LOGIN, took=0.1)
    stage.call(
        "TodoWrite",
        {
            "todos": [
                {"content": "Limit by address", "status": "in_progress", "activeForm": "Limiting by address"},
                {"content": "Answer 429 with Retry-After", "status": "pending", "activeForm": "Answering 429"},
                {"content": "Test it", "status": "pending", "activeForm": "Testing"},
            ]
        },
        "Todos have been modified successfully.",
        took=0.1,
    )
    stage.now = max(stage.now, now - timedelta(seconds=30))
    stage.call(
        "Edit",
        {
            "file_path": f"{_HARBOR}/src/login.ts",
            "old_string": "  const { name, password } = await request.json();",
            "new_string": "  if (counters.increase(`login:${request.address}`, 60) > 5) {\n"
            '    return new Response(null, { status: 429, headers: { "Retry-After": "60" } });\n  }\n'
            "  const { name, password } = await request.json();",
        },
        f"The file {_HARBOR}/src/login.ts has been updated.",
        took=0.1,
    )
    stage.wait(20)
    stage.say(
        "The sixth attempt within a minute now gets `429` with `Retry-After`. A test for it:",
        after=6,
        ends=False,
    )
    stage.call(
        "Write",
        {
            "file_path": f"{_HARBOR}/tests/login.test.ts",
            "content": 'test("the sixth attempt is refused", async () => {\n  for (let n = 0; n < 5; n++) await attempt();\n'
            "  expect((await attempt()).status).toBe(429);\n});\n",
        },
        f"File created successfully at: {_HARBOR}/tests/login.test.ts",
        took=0.2,
    )
    stage.wait(8)
    stage.call(
        "Bash",
        {"command": "npm test -- login", "description": "Run the login tests"},
        "Exit code 1\n\x1b[31mFAIL\x1b[0m tests/login.test.ts\n  \x1b[31m✗ the sixth attempt is refused\x1b[0m\n"
        "    ReferenceError: counters is not defined",
        took=7.5,
        failed=True,
    )
    stage.say("The import is missing.", after=5, ends=False)
    stage.call(
        "Edit",
        {
            "file_path": f"{_HARBOR}/src/login.ts",
            "old_string": 'import { verify } from "./passwords";',
            "new_string": 'import { counters } from "./counters";\nimport { verify } from "./passwords";',
        },
        f"The file {_HARBOR}/src/login.ts has been updated.",
        took=0.2,
    )
    stage.wait(6)
    stage.call(
        "Bash",
        {"command": "npm test -- login", "description": "Run the login tests"},
        "\x1b[32mPASS\x1b[0m tests/login.test.ts\n  \x1b[32m✓\x1b[0m the sixth attempt is refused (38 ms)\n\n"
        "Tests: \x1b[32m4 passed\x1b[0m, 4 total",
        took=8.2,
    )
    stage.title("Limit attempts at /login")
    stage.say(
        "Login is limited to **5 attempts a minute** for each address; the sixth gets `429` and `Retry-After: 60`.\n\n"
        "One thing to know: `Counters` are in memory, so with several processes each counts by itself.",
        after=7,
    )
    return stage


def wait_for_permission(now: datetime) -> Stage:
    """Show a call that nobody has allowed yet."""
    stage = Stage(
        "push",
        project=_HARBOR,
        begins=now - timedelta(minutes=9),
        model="claude-sonnet-4-5",
        branch="deps/october",
    )
    stage.hook("SessionStart", source="startup", model=stage.model)
    prompt = "Update the dependencies, run the tests, and push it if they pass."
    stage.hook("UserPromptSubmit", prompt=prompt)
    stage.prompt(prompt, after=0)
    stage.call(
        "Bash",
        {"command": "npm update && npm test", "description": "Update and test"},
        "changed 14 packages in 9s\n\nTests: 112 passed, 112 total",
        took=48,
    )
    stage.call(
        "Bash",
        {"command": "git commit -am 'Update dependencies'", "description": "Commit"},
        "[deps/october 5be1c02] Update dependencies\n 2 files changed, 96 insertions(+), 91 deletions(-)",
        took=0.4,
    )
    stage.say("All 112 tests pass. I'll push the branch.", ends=False)
    push = {"command": "git push --set-upstream origin deps/october", "description": "Push the branch"}
    call = stage.call("Bash", push, None)
    stage.hook("PreToolUse", tool_name="Bash", tool_input=push, tool_use_id=call)
    stage.hook("PermissionRequest", tool_name="Bash", tool_input=push, tool_use_id=call)
    stage.title("Update dependencies")
    return stage


def translate_strings(now: datetime) -> Stage:
    """Show text of other scripts."""
    project = "/home/robin/code/field-notes"
    stage = Stage(
        "japanese", project=project, begins=now - timedelta(days=3), model="claude-sonnet-4-5", branch="i18n/ja"
    )
    stage.prompt("「下書きを保存しました」は自然な日本語ですか? strings/ja.json を確認してください。")
    stage.call(
        "Read",
        {"file_path": f"{project}/strings/ja.json"},
        '     1→{\n     2→  "draft_saved": "下書きを保存しました",\n     3→  "battery_low": "電池の残量が少ないです"\n     4→}',
        took=0.1,
    )
    stage.say(
        "はい、自然です。ただし `battery_low` は「バッテリー残量が少なくなっています」の方がアプリの通知らしくなります。"
    )
    stage.title("日本語の文言を確認")
    return stage


def stop_and_ask(now: datetime) -> Stage:
    """Show an interruption, and what was said instead."""
    project = "/home/robin/code/harbor-api"
    stage = Stage("stopped", project=project, begins=now - timedelta(days=1, hours=6), model="claude-haiku-4-5")
    stage.prompt("Clean up the test data.")
    stage.call(
        "Glob",
        {"pattern": "tests/data/**"},
        "tests/data/boats.json\ntests/data/piers.json\ntests/data/real/",
        took=0.1,
    )
    stage.say("I'll remove everything below `tests/data`.", ends=False)
    stage.interrupt()
    stage.prompt("No! Keep tests/data/real. Only remove what no test opens.", after=8)
    stage.call(
        "Bash",
        {"command": "grep -rl piers.json tests/*.ts || echo nobody", "description": "Who opens piers.json"},
        "nobody",
        took=0.2,
    )
    stage.call(
        "Bash",
        {"command": "git rm tests/data/piers.json", "description": "Remove it"},
        "rm 'tests/data/piers.json'",
    )
    stage.say("Only `piers.json` was unused; it is removed. `tests/data/real` was not touched.")
    stage.title("Remove unused test data")
    return stage


def explain_regex(now: datetime) -> Stage:
    """Show a question and its answer, without tools."""
    stage = Stage(
        "regex",
        project="/home/robin/code/orchard",
        begins=now - timedelta(hours=7),
        model="claude-haiku-4-5",
        branch="main",
    )
    stage.prompt(r"What does `^(?=.*\d)[A-Z]{2}-\d{4}$` match?")
    stage.say(
        "Two capital letters, a dash and four digits, as `AB-1234`.\n\nThe part `(?=.*\\d)` asks for a digit somewhere; "
        "as four digits are required anyway, it changes nothing and can go:\n\n```\n^[A-Z]{2}-\\d{4}$\n```"
    )
    stage.title("Explain a pattern")
    return stage


PLAYS: Sequence[Callable[[datetime], Stage]] = (
    add_rate_limit,
    wait_for_permission,
    fix_flaky_test,
    speed_up_import,
    write_release_notes,
    translate_strings,
    stop_and_ask,
    explain_regex,
)


class Scene:
    """A file of a sample session, and the lines that are still to come."""

    def __init__(self, path: Path, stage: Stage, now: datetime) -> None:
        self.path = path
        self._written = b"".join(data for at, data in stage.lines if at <= now)
        self.coming = [(at, data) for at, data in stage.lines if at > now]
        """Those that are written later, each with when."""

    def write(self) -> None:
        """Write what has happened so far."""
        if self._written:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_bytes(self._written)


def install(into: Path, now: datetime | None = None, home: Path | None = None) -> list[Scene]:
    """Put the samples into a folder as Claude Code would: `into` becomes a `CLAUDE_CONFIG_DIR`.

    What hooks were told is put into the spool of `home`, turnlog's own directory, if there is one. Returns the
    scenes; what is still to come in them, `play_live` writes.
    """
    now = datetime.now(UTC) if now is None else now
    scenes = list_scenes(into, now)
    for scene in scenes:
        scene.write()
    if home is not None:
        _deliver(home / SPOOL, now)
    return scenes


def _deliver(spool: Path, now: datetime) -> None:
    spool.mkdir(mode=0o700, parents=True)
    for stage in (build(now) for build in PLAYS):
        for number, (at, payload) in enumerate(stage.hooks, 1):
            since = to_microseconds(at) * 1000 + number  # those of one moment in their order
            (spool / f"{since}-demo-{stage.name}-{number}.json").write_bytes(payload)


def list_scenes(into: Path, now: datetime) -> list[Scene]:
    """Return all files of lines; small files beside them are written at once."""
    scenes = []
    for build in PLAYS:
        stage = build(now)
        folder = into / "projects" / project_folder_name(stage.project)
        scenes.append(Scene(folder / f"{stage.session_id}.jsonl", stage, now))
        for agent, meta in stage.agents:
            beside = folder / stage.session_id / "subagents"
            scenes.append(Scene(beside / f"agent-{agent.agent_id}.jsonl", agent, now))
            beside.mkdir(parents=True, exist_ok=True)
            (beside / f"agent-{agent.agent_id}.meta.json").write_text(json.dumps(meta))
    return scenes


def play_live(scenes: Sequence[Scene], stopped: threading.Event) -> None:
    """Write what is still to come, each line at its time, until all is written or it is stopped."""
    coming = sorted((at, str(scene.path), data) for scene in scenes for at, data in scene.coming)
    by_path = {str(scene.path): scene.path for scene in scenes}
    for at, path, data in coming:
        if stopped.wait(max(0.0, (at - datetime.now(UTC)).total_seconds())):
            return
        place = by_path[path]
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("ab") as file:
            file.write(data)
