"""The audit: what was recorded stays, in its order, and is found by what it is about."""
# ruff: noqa: D102 - the names of the tests say it

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from msgspec.structs import replace

from turnlog.store.accounts.interface import Action, AuditEntry, AuditFilter
from turnlog.testing.contracts.clocked import ODD_TEXTS, AccountsBase

_ENTRIES = (
    AuditEntry(at_ns=5, who="ada", action=Action.LOOKED, session="one", person="bob"),
    AuditEntry(at_ns=7, who=None, action=Action.LINK_OPENED, session="one", person="bob", link="l1"),
    AuditEntry(at_ns=6, who="bob", action=Action.EXPORTED, session="two", person="ada", detail="as HTML"),
    AuditEntry(at_ns=8, who=None, action=Action.USER_ADDED, person="cleo", detail="member"),
)


class AuditContract(AccountsBase):
    """Contracts of the audit."""

    def test_what_happened_is_kept_newest_first(self, tmp_path: Path) -> None:
        with self.opened(tmp_path, servers=2) as (accounts, _, other):
            assert accounts.list_audit() == []
            accounts.record([])
            accounts.record(_ENTRIES[:2])
            other.record(_ENTRIES[2:])
            found = accounts.list_audit()
            assert [replace(entry, id=0) for entry in found] == [*reversed(_ENTRIES)]
            assert [entry.id for entry in found] == sorted((entry.id for entry in found), reverse=True)
            assert accounts.list_audit(limit=2) == found[:2]
            assert accounts.list_audit(before=found[1].id, limit=1) == found[2:3]
            assert accounts.list_audit(before=found[-1].id) == accounts.list_audit(limit=0) == []
            assert accounts.list_audit(before=2**70, limit=2**70) == found

    def test_entries_are_found_by_what_they_are_about(self, tmp_path: Path) -> None:
        asked = {
            AuditFilter(who="ada"): [0],
            AuditFilter(person="bob"): [1, 0],
            AuditFilter(session="one"): [1, 0],
            AuditFilter(session="one", who="ada"): [0],
            AuditFilter(actions=(Action.LOOKED, Action.EXPORTED)): [2, 0],
            AuditFilter(since_ns=6, until_ns=8): [2, 1],
            AuditFilter(about="bob"): [2, 1, 0],
            AuditFilter(about="bob", person="ada"): [2],
            AuditFilter(who=""): [],
            **{AuditFilter(who=text): [] for text in ODD_TEXTS},
        }
        with self.opened(tmp_path) as (accounts, _):
            accounts.record(_ENTRIES)
            for filter, expected in asked.items():
                found = [replace(entry, id=0) for entry in accounts.list_audit(filter)]
                assert found == [_ENTRIES[at] for at in expected], filter

    def test_entries_hold_any_text(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as (accounts, _):
            for text in ODD_TEXTS:
                entry = AuditEntry(
                    at_ns=1, who=text, action=Action.FOUND, link=text, session=text, person=text, detail=text
                )
                accounts.record([entry])
                [found] = accounts.list_audit(AuditFilter(who=text, session=text, about=text))
                assert replace(found, id=0) == entry

    def test_several_threads_and_servers_record_at_once(self, tmp_path: Path) -> None:
        with self.opened(tmp_path, servers=2) as (first, _, other), ThreadPoolExecutor(8) as pool:
            jobs = [
                pool.submit((first, other)[at % 2].record, [replace(_ENTRIES[0], detail=str(at))])
                for at in range(40)
            ]
            for job in jobs:
                job.result()
            assert {entry.detail for entry in first.list_audit()} == {str(at) for at in range(40)}
