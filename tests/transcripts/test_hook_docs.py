"""The documentation holds the tables of hooks as they are now."""

from __future__ import annotations

from pathlib import Path

import pytest

from turnlog.messages.hook_events import HOOK_EVENTS, HookEventName
from turnlog.transcripts.hooks import EVENTS, NOTIFICATIONS, render_events, render_notifications

PAGE = Path(__file__).parents[2] / "docs" / "hook-events.md"


@pytest.mark.parametrize(
    ("name", "table"), [("hook events", render_events()), ("notifications", render_notifications())]
)
def test_the_page_holds_the_tables_as_they_are(name: str, table: str) -> None:
    _, _, rest = PAGE.read_text().partition(f"<!-- {name} -->\n")
    assert rest.partition(f"<!-- end of {name} -->")[0] == table, "run `make docs`"


def test_the_tables_have_a_row_for_each_event() -> None:
    head, _, *rows = render_events().splitlines()
    assert head == "| Event | Group | Label | Context | Tool | State |"
    assert [row.split(" | ")[0] for row in rows] == [f"| `{name}`" for name in EVENTS] + ["| any other"]
    assert rows[2] == (
        "| `PreToolUse` | `autonomous` | `Running {tool_name}` or `Running a tool` | `tool_input`, unchanged | "
        "`tool_name` | autonomous; a question or a plan needs you |"
    )
    assert len(render_notifications().splitlines()) == 2 + len(NOTIFICATIONS) + 2


def test_every_event_that_is_declared_has_a_rule_whose_fields_it_has() -> None:
    assert set(EVENTS) == {str(name) for name in HookEventName} == set(HOOK_EVENTS)
    for name, rule in EVENTS.items():
        fields = set(HOOK_EVENTS[name].__struct_fields__)
        assert set(rule.context) <= fields, name
        assert rule.whole is None or rule.whole in fields
        assert rule.tool == ("tool_name" in fields), name
