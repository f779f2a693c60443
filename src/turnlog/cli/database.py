"""MongoDB on the command line: what `export --to`, `sync` and `migrate` do with the address of a database."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from threading import Event
from types import ModuleType
from typing import Any

from turnlog.cli.output import Output, show_progress
from turnlog.cli.stores import find_session, open_archive
from turnlog.cli.terminal import MisuseError, stopped_by_signals, warn
from turnlog.config import PASSWORD_SETTING, Settings
from turnlog.export.conversation import Selection
from turnlog.export.plain_text import plural
from turnlog.export.redaction import RedactionRules
from turnlog.ingest.machine import list_forgotten
from turnlog.transcripts.session_files import path_text

_CAPTURED = "mongodb"


def load(name: str = "mongodb") -> ModuleType:
    """Return the module for something; its driver is optional."""
    try:
        return import_module(f"turnlog.integrations.{name}")
    except ModuleNotFoundError as error:
        if error.name not in ("pymongo", "bson"):
            raise
        raise MisuseError("the package pymongo is needed: pip install 'turnlog[mongodb]'") from error


@contextmanager
def open_database(address: str, password_file: Path | None) -> Iterator[Any]:
    """Yield the database at an address, with the password from a file or the environment."""
    password = os.environ.get(PASSWORD_SETTING) or None
    if password_file is not None:
        try:
            password = password_file.read_text("utf-8").rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "not a password"
            raise MisuseError(f"{path_text(password_file)}: {reason}") from error
    with load().open_database(address, password) as database:
        yield database


def export_to_database(
    address: str,
    password_file: Path | None,
    sessions: Collection[str],
    rules: RedactionRules | None,
    selection: Selection,
    output: Output,
    refresh: Callable[[], None] | None,
    dry_run: bool,
    force: bool,
) -> None:
    """Bring a database up to date with sessions, or all of the archive; with `refresh`, time and again."""
    module, settings = load(), output.settings
    with open_archive(settings) as store, open_database(address, password_file) as database:
        keys = {find_session(store, each)[0].key for each in sessions} or None
        exporter = module.Exporter(
            store,
            settings.home,
            database,
            module.name_database(address),
            rules=rules,
            selection=selection,
            force=force,
            dry_run=dry_run,
        )

        def show(done: Any) -> None:
            output.show(done, _describe_exported(done, dry_run))

        with exporter.open():
            if refresh is not None:
                stop = Event()
                with stopped_by_signals(stop.set):
                    exporter.follow(
                        stop,
                        refresh,
                        show,
                        lambda reason, pause: warn(f"{reason} (trying again in {pause:.0f} s)"),
                    )
                return
            with show_progress("Exporting") as progress:
                done = exporter.run(keys, progress)
            show(done)


def _describe_exported(done: Any, dry_run: bool) -> Iterator[str]:
    would = " would be" if dry_run else ""
    yield (
        f"{plural(done.sessions, 'session')}, {done.unchanged:,} unchanged; {plural(done.added, 'document')}"
        f"{would} added, {done.changed:,} changed, {done.deleted:,} deleted"
    )
    if done.left:
        yield f"{plural(done.left, 'document')} of others left as they are; --force replaces them"
    if done.refused:
        yield f"{plural(done.refused, 'document')} refused by the server: {done.reason}"


def import_database(settings: Settings, address: str, password_file: Path | None, output: Output) -> Path:
    """Write what is new in a database into files, and return the folder that is to be synced for it."""
    importing = load("mongodb_import")
    name: str = load().name_database(address)
    folder = settings.captured_dir / _CAPTURED / name
    with open_archive(settings, writing=True) as store:
        forgotten = list_forgotten(store)
    with open_database(address, password_file) as database, show_progress("Reading documents") as progress:
        exported = settings.home / load().LEDGERS / name
        done = importing.Importer(database, folder, exported=exported, forgotten=forgotten).run(progress)
    if not output.as_json:
        output.print(
            [
                f"{plural(done.documents, 'document')} of {plural(done.sessions, 'session')} read: "
                f"{done.added:,} new, {done.changed:,} changed, {done.own:,} of this archive"
            ]
        )
    return folder
