"""Short sessions: another language, an interruption, a question."""

from __future__ import annotations

from datetime import datetime, timedelta

from turnlog.demo.stage import Stage


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
