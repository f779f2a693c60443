"""Every operation of the API is described in turnlog's own words, in the schema and in docs/api.md."""

from __future__ import annotations

import json
from inspect import cleandoc
from pathlib import Path
from typing import Any

import pytest

from turnlog.server.app import HANDLERS, describe

PAGE = Path(__file__).parents[2] / "docs" / "api.md"
OWN = {handler.fn.__name__: cleandoc(handler.fn.__doc__ or "") for handler in HANDLERS}
OPERATIONS = {
    operation["operationId"]: operation
    for methods in json.loads(describe())["paths"].values()
    for operation in methods.values()
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_is_described_by_its_own_docstring(name: str) -> None:
    operation: dict[str, Any] = OPERATIONS[name]
    assert operation["description"] == OWN[name] != ""
    assert operation["summary"] == OWN[name].partition(".")[0]
    assert "\n" not in operation["summary"]


def test_the_reference_has_the_same_descriptions() -> None:
    page = PAGE.read_text()
    assert [name for name in OPERATIONS if OWN[name].partition("\n")[0] not in page] == []
