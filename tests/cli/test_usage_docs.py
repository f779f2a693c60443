"""docs/usage.md is true: its examples print what it says."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import environment
from golden import DATA
from turnlog.store.usage_report import Breakdown, Grouping
from turnlog.transcripts import find_table

PAGE = (Path(__file__).parents[2] / "docs" / "usage.md").read_text()
EXAMPLES = re.findall(r"^```console\n\$ (.*?)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize(("command", "output"), EXAMPLES, ids=[command for command, _ in EXAMPLES])
def test_examples_print_what_the_page_says(command: str, output: str, tmp_path: Path) -> None:
    table = find_table()
    if "prices:" in output and f"{table.version}, latest from {table.newest}" not in output:
        pytest.skip("another price list is installed")
    turnlog = f"{shlex.quote(sys.executable)} -m turnlog"
    ran = subprocess.run(
        command.replace("turnlog", turnlog, 1),
        shell=True,
        capture_output=True,
        env=environment({"TURNLOG_HOME": str(tmp_path)}),
        cwd=DATA / "transcripts",
        check=True,
    )
    assert ran.stdout.decode() == output


def test_every_grouping_and_breakdown_is_explained() -> None:
    assert len(EXAMPLES) >= 4
    assert [each for each in (*Grouping, *Breakdown) if each.value not in PAGE] == []
