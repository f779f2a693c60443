"""Where things are: in a file, or on a server that an address names."""

from __future__ import annotations

from pathlib import Path

import pytest

from turnlog.store.opening import open_store
from turnlog.store.places import ServerPlace, explain_refusal, home_of, is_made


def test_a_file_has_its_folder_for_what_belongs_to_the_machine(tmp_path: Path) -> None:
    place = tmp_path / "turnlog.db"
    assert home_of(place) == tmp_path
    assert not is_made(place)
    open_store(place).close()
    assert is_made(place)


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql://ada:s3cret@db:5433/turnlog", "postgresql://ada@db:5433/turnlog"),
        ("postgres://:s3cret@db/turnlog", "postgres://@db/turnlog"),
        ("postgresql:///turnlog?host=/run/pg&password=s3cret", "postgresql:///turnlog"),
    ],
)
def test_a_password_is_never_shown(address: str, shown: str) -> None:
    assert str(ServerPlace(address)) == shown
    assert "s3cret" not in f"{ServerPlace(address)}"


@pytest.mark.parametrize("address", ["mysql://ada:s3cret@db/x", "turnlog.db", "postgresql://[s3cret"])
def test_an_address_is_refused_and_not_repeated(address: str) -> None:
    told = explain_refusal(address)
    assert "SQLite only" in told
    assert "s3cret" not in told


@pytest.mark.parametrize(
    ("scheme", "engine"),
    [
        ("postgresql", "PostgreSQL"),
        ("postgres", "PostgreSQL"),
        ("clickhouse", "ClickHouse"),
        ("clickhouses", "ClickHouse"),
        ("chdb", "ClickHouse"),
    ],
)
def test_an_engine_that_earlier_versions_had_is_refused_with_the_way_out(scheme: str, engine: str) -> None:
    told = explain_refusal(f"{scheme}://ada:s3cret@db/turnlog")
    assert f"not in {engine}:" in told
    assert "`turnlog export --raw`" in told
    assert "`turnlog sync`" in told
    assert ("has PostgreSQL again" in told) == (engine == "PostgreSQL")
    assert "s3cret" not in told
