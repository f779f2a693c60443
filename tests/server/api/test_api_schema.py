"""The API is what its schema says: asked with whatever the schema allows and forbids, it never fails."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import Case
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)

from api_archive import COPIED, IMAGES, INLINE, ODD, OFFLOADED, TOOLS, fill
from server_app import Served, serving
from turnlog.server.app import describe
from turnlog.server.requests import ServerContext
from turnlog.server.security.guard import FailureLimit
from turnlog.store.opening import open_store

ROOT = Path(__file__).parents[3]
DESCRIBED = describe()
REFUSALS = [400, 404, 409, 413, 414, 422]
"""What the schema forbids is refused by any of these: it is too long, or wrong, or of what is not there."""
CONFIG = schemathesis.Config.from_dict({"checks": {"negative_data_rejection": {"expected-statuses": REFUSALS}}})
SCHEMA = schemathesis.openapi.from_dict(json.loads(DESCRIBED), config=CONFIG)
ENDLESS = "GET /api/live"
KEEPS_ALL = "POST /api/hooks"
"""What a hook brings is kept, whatever it is."""
_found = [each.ok() for each in SCHEMA.get_all_operations() if isinstance(each, Ok)]
OPERATIONS = {
    each.label: each
    for each in sorted(_found, key=lambda each: each.method != "get")  # what changes something comes last
    if each.label != ENDLESS
}
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    negative_data_rejection,
]
_few = settings(
    max_examples=settings().max_examples // 8,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    database=None,
)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with an archive of its own: what is made up may well change marks."""
    home = tmp_path_factory.mktemp("schema")
    store = open_store(home / "turnlog.db")
    fill(store, home / "turnlog.db", home / "claude")
    around = ServerContext(place=home / "turnlog.db", config_dirs=(home / "claude",))
    patient = FailureLimit(1 << 30)  # tokens are made up, too
    with serving(home / "home", store=store, around=around, failures=patient) as running:
        yield running
    store.close()


def ask(served: Served, case: Case[Any]) -> None:
    answer = case.call(base_url=served.origin, headers=served.bearer, timeout=30)
    # In an address all is text, and most parameters take any: only of bodies it is known what is wrong.
    kept = case.operation.label == KEEPS_ALL or not case.operation.body
    case.validate_response(
        answer, checks=[each for each in CHECKS if each is not negative_data_rejection or not kept]
    )


@pytest.mark.parametrize("label", OPERATIONS)
def test_what_the_schema_allows_is_answered_as_it_says(served: Served, label: str) -> None:
    operation = OPERATIONS[label]
    names = st.sampled_from([ODD, TOOLS, INLINE, IMAGES, OFFLOADED, COPIED, ODD[:4]])

    @_few
    @given(case=operation.as_strategy(), name=names, is_known=st.booleans())
    def check(case: Case[Any], name: str, is_known: bool) -> None:
        if is_known and "id" in case.path_parameters:
            case.path_parameters["id"] = name
        ask(served, case)

    check()


@pytest.mark.parametrize("label", [label for label, each in OPERATIONS.items() if each.query or each.body])
def test_nothing_fails_at_what_the_schema_forbids(served: Served, label: str) -> None:
    @settings(_few, max_examples=settings().max_examples // 16)
    @given(case=OPERATIONS[label].as_strategy(generation_mode=GenerationMode.NEGATIVE))
    def check(case: Case[Any]) -> None:
        ask(served, case)

    check()


def test_every_operation_shape_and_parameter_is_described() -> None:
    schema = json.loads(DESCRIBED)
    for path, methods in schema["paths"].items():
        for operation in methods.values():
            assert operation["description"], path
            undescribed = [each["name"] for each in operation.get("parameters", ()) if not each["description"]]
            assert undescribed == [], path
    shapes = schema["components"]["schemas"]
    known = [name for name, shape in shapes.items() if "properties" in shape and not shape.get("description")]
    assert known == []


def test_the_pages_schema_is_this_one() -> None:
    written = (ROOT / "web" / "openapi.json").read_bytes()
    assert written == DESCRIBED, "web/openapi.json is not what the server says: run `make schema`"
