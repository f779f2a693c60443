"""The sample sessions: such that are done, such that are played live, and short ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from turnlog.demo.stage import Stage

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
