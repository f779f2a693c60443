"""How many documents a second go into a MongoDB database, and out of it: `mongodb.py SESSIONS [ADDRESS]`.

Without an address, the server is that of the tests (FerretDB on SQLite). What limits the export is told beside
it: how many documents a second are made without a server, and how many this server takes without turnlog.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from mongodb_server import start_server
from turnlog.export.documents import encode_documents
from turnlog.export.files import read_summary
from turnlog.export.redaction import RedactionRules
from turnlog.ingest.pipeline import sync
from turnlog.integrations.mongodb import Exporter, name_database, open_database, to_bson
from turnlog.integrations.mongodb_import import Importer
from turnlog.store.interface import EVERY, MaintainedStore
from turnlog.store.lists import SessionFilter
from turnlog.store.model import LOCAL
from turnlog.store.opening import open_store
from turnlog.transcripts.session_files import locate_path

_TOGETHER = 1000


def measure(what: str, work: Callable[[], int]) -> None:
    begun = time.perf_counter()
    count = work()
    seconds = time.perf_counter() - begun
    print(f"{what:<44}{count:>10,} documents{seconds:>9.2f} s{count / seconds:>12,.0f} a second")


def make_documents(store: MaintainedStore, found: list[bytes]) -> int:
    for session in store.list_sessions(LOCAL, SessionFilter(archived=None), limit=EVERY).sessions:
        with store.open_session(LOCAL, session.key) as records:
            found += encode_documents(records, read_summary(store, LOCAL, session))
    return len(found)


def main() -> None:
    """Measure, and print a line for each."""
    parser = argparse.ArgumentParser()
    parser.add_argument("sessions", type=Path)
    parser.add_argument("address", nargs="?", help="of a server, without a database")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder, "home")
        home.mkdir()
        with closing(open_store(home / "turnlog.db")) as store:
            sync(store, home / "turnlog.db", locate_path(given.sessions).sessions, origin="benchmark")
            _measure_all(store, home, given.address)


def _measure_all(store: MaintainedStore, home: Path, address: str | None) -> None:
    def name() -> str:
        return start_server().name() if address is None else f"{address.rstrip('/')}/t{time.time_ns()}"

    documents: list[bytes] = []
    measure("made, without a server", lambda: make_documents(store, documents))
    plain = [to_bson(each, plain=True) for each in documents]

    def insert(address: str) -> int:
        with open_database(address) as database:
            for start in range(0, len(plain), _TOGETHER):
                some = [{**each, "_id": start + at} for at, each in enumerate(plain[start : start + _TOGETHER])]
                database.messages.insert_many(some, ordered=False)
        return len(plain)

    def export(address: str, rules: RedactionRules | None) -> int:
        with open_database(address) as database:
            exporter = Exporter(store, home, database, name_database(address), rules=rules)
            with exporter.open():
                done = exporter.run()
        return done.added or len(plain)

    def read(address: str) -> int:
        with open_database(address) as database:
            folder = home / "captured"
            return Importer(database, folder, exported=home / "none", forgotten=()).run().documents

    measure("taken by the server, without turnlog", lambda: insert(name()))
    full = name()
    measure("exported", lambda: export(full, None))
    measure("exported once more, nothing new", lambda: export(full, None))
    measure("exported, redacted", lambda: export(name(), RedactionRules()))
    measure("read into files", lambda: read(full))


if __name__ == "__main__":
    main()
