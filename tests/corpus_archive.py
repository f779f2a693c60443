"""One archive of the corpus for all tests of a run, whichever processes they are in."""

from __future__ import annotations

import fcntl
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import msgspec

from turnlog.ingest.change_check import SyncReport
from turnlog.ingest.pipeline import sync
from turnlog.store.opening import open_store
from turnlog.transcripts.session_files import locate_path

ORIGIN = "corpus"


class CorpusArchive(NamedTuple):
    """Where it is, which is to be read only, and what syncing it reported; who writes makes a copy."""

    place: Path
    report: SyncReport


def share_archive(corpus: Path, shared: Path) -> CorpusArchive:
    """Return the archive that whoever needed it first in this run has made; others wait meanwhile."""
    folder = shared / "corpus-archive"
    folder.mkdir(exist_ok=True)
    place, done = folder / "turnlog.db", folder / "report.json"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            with closing(open_store(place)) as store:
                report = sync(store, place, locate_path(corpus / "sessions").sessions, origin=ORIGIN)
            done.write_bytes(msgspec.json.encode(report))
    return CorpusArchive(place, msgspec.json.decode(done.read_bytes(), type=SyncReport))
