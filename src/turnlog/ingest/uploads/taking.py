"""Taking uploads into a store: several sessions at once, each acknowledged when it is on the disk.

What the store has is asked anew for each session, so it does not matter which process took what came before.
What another writer has changed meanwhile is looked at once more, and refused if it does not follow any longer.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from enum import StrEnum

from msgspec import Struct

from turnlog.errors import BusyStoreError, LostStoreError, NewerStoreError, StoreError, UploadError
from turnlog.ingest.copies import note_copies
from turnlog.ingest.forgotten import list_forgotten
from turnlog.ingest.hot import HotSessions
from turnlog.ingest.looks import Look
from turnlog.ingest.uploads.machines import KnownMachines
from turnlog.ingest.uploads.protocol import SessionUpload, Upload, decode_upload, name_text
from turnlog.ingest.uploads.received import find_key, look_at_upload
from turnlog.ingest.uploads.state import KeptSession, tell_session
from turnlog.store.interface import CaredStore, KnownSession, find_known
from turnlog.store.model import LOCAL, Scope, Viewer

logger = logging.getLogger("turnlog.ingest")

_WORTH_SETTLING = 64 << 20
"""After so many new bytes the store may have something to put in order."""


class Outcome(StrEnum):
    """The result for a session in an upload."""

    TAKEN = "taken"
    """It is on the disk."""
    MISMATCH = "mismatch"
    """It does not follow on what is here, which is told."""
    FORGOTTEN = "forgotten"
    """The session was forgotten here, and is not taken any more."""
    DAMAGED = "damaged"
    """It says what cannot be."""
    BUSY = "busy"
    """It may be tried again."""
    FAILED = "failed"
    """It could not be stored; the server's log says why."""


class Given(Struct, frozen=True, gc=False):
    """What came from a machine."""

    origin: str
    body: bytes
    person: str | None = None
    """Whose token it came with; None for the server's own."""


class SessionAnswer(Struct, frozen=True, gc=False, kw_only=True):
    """The result for a session, and what the server has of it now."""

    outcome: Outcome
    session: KeptSession | None = None
    """null if there is nothing of it."""
    reason: str = ""


class UploadAnswer(Struct, frozen=True, gc=False, omit_defaults=True):
    """What became of an upload."""

    code: str = ""
    """Empty if it could be read; then each session has an answer of its own, in their order."""
    reason: str = ""
    sessions: tuple[SessionAnswer, ...] = ()
    size: int = 0
    """How many bytes of files were taken."""


class _Asked(Struct, frozen=True):
    """A session in one of the uploads."""

    upload: SessionUpload
    origin: str
    forgotten: frozenset[str]
    """What its person forgot."""

    @property
    def key(self) -> str:
        return find_key(self.upload, self.origin)

    @property
    def size(self) -> int:
        return sum(len(stretch.data) for stretch in self.upload.sources)


class UploadTaker:
    """Takes what machines push; for one thread at a time."""

    def __init__(
        self, store: CaredStore, scope: Scope = LOCAL, flush: Callable[[], None] | None = None
    ) -> None:
        """Take a store, and what makes that which was applied to it outlast a loss of power."""
        self._store = store
        self._scope = scope
        self._flush = flush
        self._machines = KnownMachines(store, scope)
        self._hot = HotSessions()
        self._unsettled = 0
        self._looked: list[tuple[_Asked, Look]] = []
        self._answers: dict[int, SessionAnswer] = {}
        """By the identity of what was asked, which lives as long as `take`."""

    def take(self, given: Sequence[Given]) -> list[UploadAnswer]:
        """Take uploads, each session whole or not at all, and return what became of them when it is durable.

        Uploads of the same session are taken in their order. Raises `NewerStoreError`.
        """
        self._hot.drop(list_forgotten(self._store, self._scope))
        opened = [self._open(each) for each in given]
        forgotten = {person: self._list_forgotten(person) for person in {each.person for each in given}}
        asked = [
            [] if isinstance(upload, UploadAnswer) else _list_asked(upload, forgotten[each.person])
            for upload, each in zip(opened, given, strict=True)
        ]
        for each in (each for several in asked for each in several):
            self._take_in(each)
        self._write()
        answers = [
            each if isinstance(each, UploadAnswer) else self._answer(several)
            for each, several in zip(opened, asked, strict=True)
        ]
        self._answers.clear()
        return answers

    def rest(self) -> None:
        """Put in order what much writing left behind, and let go of what nobody has written to for a while."""
        self._hot.drop_idle()
        if self._unsettled >= _WORTH_SETTLING:
            self._unsettled = 0
            self._store.maintain()

    def _open(self, given: Given) -> Upload | UploadAnswer:
        """Return an upload that can be read, and may come from who sent it."""
        try:
            upload = decode_upload(given.body, given.origin)
            self._machines.note(given.origin, given.person, upload.machine)
        except UploadError as error:
            return UploadAnswer(error.code, error.reason)
        except NewerStoreError:
            raise
        except StoreError as error:
            logger.warning("the owner of a machine cannot be recorded: %s", error)
            return UploadAnswer("busy", "The archive is being written; try again")
        return upload

    def _list_forgotten(self, person: str | None) -> frozenset[str]:
        """Return what a person forgot: what others did is no business of theirs."""
        scope = self._scope if person is None else Scope(self._scope.owner, Viewer(person=person))
        return list_forgotten(self._store, scope)

    def _take_in(self, asked: _Asked) -> None:
        key, forgotten = asked.key, asked.forgotten
        if any(key == other.key for other, _ in self._looked):
            self._write()
        try:
            if key in forgotten or (not asked.upload.key and name_text(asked.upload.session_id) in forgotten):
                raise UploadError(Outcome.FORGOTTEN, "The session was forgotten here")
            self._looked.append((asked, self._look(asked)))
        except Exception as error:  # noqa: BLE001  whatever is wrong with one, the others are taken
            self._answers[id(asked)] = self._explain(error, asked)

    def _look(self, asked: _Asked) -> Look:
        known = self._find_known(asked)
        return look_at_upload(
            asked.upload,
            known,
            self._store.archive,
            self._hot.take(known),
            origin=asked.origin,
            owner=self._scope.owner,
            now_ns=time.time_ns(),
            # Of many that are new and whole, hardly any is being written to.
            is_last=known is None and not asked.upload.has_more,
        )

    def _write(self) -> None:
        """Write what was looked at, all at once or, where somebody was faster, one by one; and forget it."""
        looked, self._looked = self._looked, []
        try:
            self._apply([look for _, look in looked])
        except NewerStoreError:
            raise
        except (BusyStoreError, LostStoreError) as error:
            for asked, _ in looked:
                self._answers[id(asked)] = self._explain(error, asked)
        except StoreError:
            for asked, _ in looked:
                self._answers[id(asked)] = self._write_again(asked)
        else:
            for asked, _ in looked:
                self._answers[id(asked)] = self._acknowledge(asked)

    def _write_again(self, asked: _Asked) -> SessionAnswer:
        try:
            self._apply([self._look(asked)])
        except (UploadError, StoreError) as error:
            return self._explain(error, asked)
        return self._acknowledge(asked)

    def _apply(self, looks: list[Look]) -> None:
        batches = [look.batch for look in looks if look.batch is not None]
        if batches:
            self._store.apply(note_copies(self._store, batches))
            if self._flush is not None:
                self._flush()
        for look in looks:
            self._hot.put(look.hot)

    def _acknowledge(self, asked: _Asked) -> SessionAnswer:
        self._unsettled += asked.size
        return SessionAnswer(outcome=Outcome.TAKEN, session=self._tell(asked))

    def _find_known(self, asked: _Asked) -> KnownSession | None:
        """Return what there is of a session; for a machine there is nothing that comes from another one."""
        known = find_known(self._store, self._scope, asked.key)
        return known if known is not None and known.origin == asked.origin else None

    def _tell(self, asked: _Asked) -> KeptSession | None:
        known = self._find_known(asked)
        return None if known is None else tell_session(known)

    def _explain(self, error: Exception, asked: _Asked) -> SessionAnswer:
        match error:
            case NewerStoreError():
                raise error
            case UploadError(code=Outcome.MISMATCH):
                return SessionAnswer(outcome=Outcome.MISMATCH, session=self._tell(asked), reason=error.reason)
            case UploadError():
                return SessionAnswer(outcome=Outcome(error.code), reason=error.reason)
            case BusyStoreError():
                return SessionAnswer(outcome=Outcome.BUSY, reason="The archive is being written; try again")
            case LostStoreError():
                logger.warning("an upload was not stored yet: %s", error)
                return SessionAnswer(outcome=Outcome.BUSY, reason="The archive cannot be reached; try again")
            case StoreError():
                logger.error("an upload was not stored: %s", error)
            case _:
                logger.exception("an upload was not stored", exc_info=error)
        return SessionAnswer(outcome=Outcome.FAILED, reason="It could not be stored; the server's log says why")

    def _answer(self, several: Sequence[_Asked]) -> UploadAnswer:
        answers = [self._answers[id(asked)] for asked in several]
        taken = zip(several, answers, strict=True)
        size = sum(asked.size for asked, answer in taken if answer.outcome is Outcome.TAKEN)
        return UploadAnswer(sessions=tuple(answers), size=size)


def _list_asked(upload: Upload, forgotten: frozenset[str]) -> list[_Asked]:
    return [_Asked(session, upload.origin, forgotten) for session in upload.sessions]
