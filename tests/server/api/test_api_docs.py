"""docs/api.md says of every operation what it does, what it takes, and what it answers."""

from __future__ import annotations

import json

from api_reference import MARK, PAGE, build_reference
from turnlog.server.app import describe


def test_the_page_is_what_the_server_answers() -> None:
    assert PAGE.read_text().partition(MARK)[2] == f"\n{build_reference()}", "run `make docs`"


def test_every_operation_and_parameter_is_documented() -> None:
    page = PAGE.read_text()
    for path, methods in json.loads(describe())["paths"].items():
        for method, operation in methods.items():
            head = f"## `{method.upper()} {path}`\n"
            assert head in page
            section = page.partition(head)[2].partition("\n## ")[0]
            assert [
                each["name"] for each in operation.get("parameters", ()) if f"`{each['name']}`" not in section
            ] == []
