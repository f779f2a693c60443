"""Sessions that are over: a bug that was found, a prompt that was edited, a conversation that grew too long."""

from __future__ import annotations

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
