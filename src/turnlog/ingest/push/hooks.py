"""Pushing what hooks were given on this machine.

Where there is an archive, deliveries are taken into it first, as any sync does, and its feed says what is new.
The server is offered their names, and gets those that it does not have. Without an archive they are pushed out
of the spool, and stay there until the server has them. What happened in excluded projects is never sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import islice

from msgspec.structs import replace

from turnlog.errors import BusyStoreError
from turnlog.ingest.exclusions import Exclusion
from turnlog.ingest.push.client import PushClient
from turnlog.ingest.spool import Spool
from turnlog.ingest.spool_import import import_spool
from turnlog.ingest.uploads.protocol import PROTOCOL, STRETCH, Delivered, HookUpload, Machine
from turnlog.store.interface import CaredStore, ChangeKind
from turnlog.store.model import LOCAL
from turnlog.transcripts.hooks import DeliveryFilter, HookDelivery, find_text

_NAMES = 500
"""How many files of the spool, and how many deliveries, are looked at together."""
_LARGE = STRETCH
"""What is larger goes alone, as a hook itself would send it."""
_HOUR = 3600 * 10**9


class _Sender:
    def __init__(self, client: PushClient, origin: str, machine: Machine, exclusion: Exclusion) -> None:
        self._client = client
        self._origin = origin
        self._machine = machine
        self._exclusion = exclusion

    def may_go(self, delivery: HookDelivery) -> bool:
        if not self._exclusion:
            return True
        names = "cwd", "transcript_path", "agent_transcript_path"
        told = (find_text(delivery.fields, name) for name in names)
        return not self._exclusion.excludes_paths([path for path in told if path])

    def offer(self, names: Sequence[str]) -> frozenset[str]:
        """Return which of some deliveries the server does not have; raises `PushError`."""
        return self._client.send_hooks(self._build(offered=tuple(names)))

    def send(self, deliveries: Iterable[HookDelivery]) -> int:
        """Push deliveries, and return how many; raises `PushError`."""
        sent, together, size = 0, list[Delivered](), 0
        for delivery in deliveries:
            sent += 1
            if len(delivery.payload) > _LARGE:
                self._client.send_hook(delivery.delivery_id, delivery.payload)
                continue
            if together and size + len(delivery.payload) > STRETCH:
                self._client.send_hooks(self._build(deliveries=tuple(together)))
                together, size = [], 0
            together.append(Delivered(delivery.delivery_id, delivery.received_ns, delivery.payload))
            size += len(delivery.payload)
        if together:
            self._client.send_hooks(self._build(deliveries=tuple(together)))
        return sent

    def _build(self, offered: tuple[str, ...] = (), deliveries: tuple[Delivered, ...] = ()) -> HookUpload:
        return HookUpload(
            protocol=PROTOCOL,
            origin=self._origin,
            machine=self._machine,
            offered=offered,
            deliveries=deliveries,
        )


class SpooledHooks:
    """Deliveries of a machine that has no archive."""

    def __init__(
        self, client: PushClient, spool: Spool, *, origin: str, machine: Machine, exclusion: Exclusion
    ) -> None:
        self._spool = spool
        self._sender = _Sender(client, origin, machine, exclusion)
        self._left: set[str] = set()
        """Files that are not to be sent, or cannot be read."""

    def push(self) -> int:
        """Push what lies in the spool, and return how many deliveries; raises `PushError`."""
        sent = 0
        while True:
            names = sorted(
                islice((name for name in self._spool.list_names() if name not in self._left), _NAMES)
            )
            if not names:
                return sent
            for name in names:
                sent += self._push(name)

    def _push(self, name: str) -> int:
        try:
            found = self._spool.read(name)
        except OSError:
            self._left.add(name)
            return 0
        if found is None:
            self._spool.put_aside(name)
            return 0
        chosen = [each for each in found if self._sender.may_go(each)]
        if len(chosen) < len(found):
            self._left.add(name)
        for each in chosen:
            if not each.is_readable:
                self._spool.write_aside(each.delivery_id, each.payload)
        sent = self._sender.send(each for each in chosen if each.is_readable)
        if name not in self._left:
            self._spool.remove(name)
        return sent


class StoredHooks:
    """Deliveries of a machine that has an archive."""

    def __init__(
        self,
        client: PushClient,
        spool: Spool,
        store: CaredStore,
        *,
        origin: str,
        machine: Machine,
        exclusion: Exclusion,
        after: int = 0,
        on_done: Callable[[int], None] = lambda seq: None,
    ) -> None:
        """Go on `after` an entry of the store's feed; `on_done` is told up to where all is pushed."""
        self._spool = spool
        self._store = store
        self._sender = _Sender(client, origin, machine, exclusion)
        self._after = after
        self._on_done = on_done
        self._done: dict[str, set[str]] = {}
        """What the server has of each session, as far as this process knows."""
        self._newest: dict[str, int] = {}

    def push(self) -> int:
        """Push what is new in the archive, and return how many deliveries; raises `PushError`."""
        with suppress(BusyStoreError):  # it stays in the spool until the next time
            import_spool(self._spool, self._store)
        sent = 0
        while changes := self._store.read_feed(LOCAL, self._after, 1000).entries:
            told = (entry.session for entry in changes if entry.kind is ChangeKind.HOOK_DELIVERED)
            for session_id in dict.fromkeys(told):
                sent += self._push(session_id)
            self._after = changes[-1].seq
            self._on_done(self._after)
        return sent

    def _push(self, session_id: str) -> int:
        done = self._done.setdefault(session_id, set())
        since = self._newest.get(session_id, 0) - _HOUR
        which = DeliveryFilter(session_id=session_id, since_ns=since, count=_NAMES)
        found = self._store.list_deliveries(LOCAL, which)
        new = [each for each in found if each.delivery_id not in done]
        total = self._store.count_deliveries(LOCAL, session_id)
        if len(done) + len(new) == total and len(found) < _NAMES:
            return self._send(session_id, new)
        # Late ones may be older than any that are done; or there are simply many.
        sent, first = 0, 0
        which = DeliveryFilter(session_id=session_id, count=_NAMES)
        while page := self._store.list_deliveries(LOCAL, replace(which, first=first)):
            sent += self._send(session_id, [each for each in page if each.delivery_id not in done])
            first += len(page)
        return sent

    def _send(self, session_id: str, deliveries: Sequence[HookDelivery]) -> int:
        if not deliveries:
            return 0
        chosen = [each for each in deliveries if self._sender.may_go(each)]
        missing = self._sender.offer([each.delivery_id for each in chosen]) if chosen else frozenset()
        sent = self._sender.send(each for each in chosen if each.delivery_id in missing)
        self._done[session_id].update(each.delivery_id for each in deliveries)
        self._newest[session_id] = max(
            self._newest.get(session_id, 0), max(each.received_ns for each in deliveries)
        )
        return sent
