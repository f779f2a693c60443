"""Where a store is: a file, or a server that an address names."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from turnlog.errors import StoreError
from turnlog.store.opening import open_store
from turnlog.store.places import ServerPlace, control_of, home_of, is_made, parse_address


def test_a_file_has_its_folder_for_what_belongs_to_the_machine(tmp_path: Path) -> None:
    place = tmp_path / "turnlog.db"
    assert home_of(place) == tmp_path
    assert not is_made(place)
    open_store(place).close()
    assert is_made(place)


def test_a_server_is_named_by_its_address_and_has_a_folder_here_too(tmp_path: Path) -> None:
    place = parse_address("postgresql://ada@db.example.org:5433/turnlog", tmp_path)
    assert (place.engine, home_of(place), is_made(place)) == ("postgres", tmp_path, True)


def test_what_is_beside_a_store_on_clickhouse_is_in_its_home_unless_said_otherwise(tmp_path: Path) -> None:
    place = ServerPlace("clickhouse://db/turnlog", tmp_path)
    assert (place.engine, control_of(place)) == ("clickhouse", tmp_path / "control.db")
    assert place.bytes_address == str(tmp_path / "blobs")
    file = ServerPlace("chdb:///data", tmp_path, control="/var/control.db", blobs="s3://bucket")
    assert (control_of(file), file.bytes_address) == (Path("/var/control.db"), "s3://bucket")
    server = ServerPlace("clickhouse://db/turnlog", tmp_path, control="postgresql://db/turnlog")
    assert control_of(server) == ServerPlace("postgresql://db/turnlog", tmp_path)


def test_other_stores_have_their_small_things_with_them(tmp_path: Path) -> None:
    for place in (tmp_path / "turnlog.db", ServerPlace("postgresql://db/turnlog", tmp_path)):
        assert control_of(place) == place


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql://ada:s3cret@db:5433/turnlog", "postgresql://ada@db:5433/turnlog"),
        ("postgres://:s3cret@db/turnlog", "postgres://@db/turnlog"),
        ("postgresql:///turnlog?host=/run/pg&password=s3cret", "postgresql:///turnlog"),
    ],
)
def test_a_password_is_never_shown(address: str, shown: str) -> None:
    assert str(ServerPlace(address, Path())) == shown
    assert "s3cret" not in f"{ServerPlace(address, Path())}"


@pytest.mark.parametrize("address", ["mysql://ada:s3cret@db/x", "turnlog.db", "", "postgresql://[s3cret"])
def test_an_address_that_nobody_knows_is_refused_and_not_repeated(address: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Expected") as refused:
        parse_address(address, tmp_path)
    assert "s3cret" not in str(refused.value)


def test_an_engine_whose_driver_is_missing_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    for name in [name for name in sys.modules if name.startswith("turnlog.store.postgres")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(StoreError, match=r"pip install 'turnlog\[postgres\]'"):
        open_store(ServerPlace("postgresql://db/turnlog", tmp_path))
