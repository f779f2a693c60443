"""Small worlds of people, and what somebody sees of them, by rules that are written down once more here.

A world can be put into a store under any owner, whole or only what a viewer may see of it.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from turnlog.store.batch import SessionBatch
from turnlog.store.interface import MaintainedStore
from turnlog.store.lists import MarkChange
from turnlog.store.model import Scope, Viewer, Visibility
from turnlog.testing.builders import make_batch, make_line
from turnlog.transcripts.hooks import HookDelivery

NAMES = ("s-1", "s-2")
"""Ids of sessions: several machines may have one with the same."""
ORIGINS = ("m-1", "m-2", "m-3")
FOLDERS = ("tea", "milk")
_PERSONS = (None, "ada", "bob")
_ANSWERS = ("msg-1", "msg-2", "msg-3")


class Session(Struct, frozen=True):
    """A session of a machine."""

    name: str
    origin: str
    folder: str
    answers: tuple[str, ...]
    """The API's ids of its answers; forks have the same."""
    copied: bool = False
    """Whether it is said to be a copy of the first session of the world."""
    chosen: Visibility | None = None
    starred: bool = False
    forgotten: bool = False

    def build(self, owner: str, original: str | None) -> SessionBatch:
        """Return the batch that brings it into a store."""
        lines = [make_line(0, session_id=self.name, text=f"prompt of {self.name}")]
        for number, answer in enumerate(self.answers, 1):
            more = {"message_id": answer, "text": f"answer {answer} in {self.folder}"}
            lines.append(make_line(number, type="assistant", session_id=self.name, **more))
        agent = make_line(0, session_id=self.name, agent_id="a1", text="task of an agent")
        files = {f"{self.name}.jsonl": b"".join(lines), f"{self.name}/subagents/agent-a1.jsonl": agent}
        batch = make_batch(
            files, session_id=self.name, owner=owner, origin=self.origin, project_folder=self.folder
        )
        if original is None or not self.copied or original == batch.key:
            return batch
        first, *others = batch.sources
        return replace(batch, sources=(replace(first, copied_from=original), *others))

    @property
    def key(self) -> str:
        return self.build("", None).key


class Told(Struct, frozen=True):
    """What a hook told."""

    origin: str
    name: str
    of_call: bool


class World(Struct, frozen=True):
    """All there is."""

    persons: dict[str, str | None]
    """Of machines, at last."""
    former: dict[str, str | None]
    """And before that."""
    rules: dict[str, Visibility]
    sessions: tuple[Session, ...]
    told: tuple[Told, ...]

    def find_person(self, session: Session) -> str | None:
        return self.persons[session.origin]

    def is_shared(self, session: Session) -> bool:
        if session.chosen is not None:
            return session.chosen is Visibility.TEAM
        path = f"/home/ada/{session.folder}"
        fitting = [
            pattern
            for pattern in self.rules
            if fnmatchcase(path, pattern) or ("/" not in pattern and fnmatchcase(session.folder, pattern))
        ]
        best = min(fitting, key=lambda pattern: (-len(pattern), pattern), default=None)
        return best is not None and self.rules[best] is Visibility.TEAM

    @property
    def left(self) -> list[Session]:
        """The sessions that were not forgotten."""
        return [session for session in self.sessions if not session.forgotten]

    @property
    def deliveries(self) -> list[tuple[int, Told]]:
        """What hooks told, but for what was forgotten with a session."""
        return [(at, told) for at, told in enumerate(self.told) if not self._is_gone(told)]

    def list_history(self, viewer: Viewer) -> set[str]:
        """Return the ids of sessions of which hooks of the viewer's machines told, and that was forgotten."""
        return {
            told.name
            for told in self.told
            if self._is_gone(told) and viewer.person is not None and self.persons[told.origin] == viewer.person
        }

    def _is_gone(self, told: Told) -> bool:
        # Sessions are forgotten one after another, while machines are whose they were before.
        whose = self.former[told.origin]
        same = [each for each in self.sessions if (each.name, self.former[each.origin]) == (told.name, whose)]
        return bool(same) and all(each.forgotten for each in same)


def _build_sessions(drawn: list[Session]) -> tuple[Session, ...]:
    return tuple({(each.name, each.origin): each for each in drawn}.values())


_visibility = st.sampled_from([None, *Visibility])
_sessions = st.builds(
    Session,
    name=st.sampled_from(NAMES),
    origin=st.sampled_from(ORIGINS),
    folder=st.sampled_from(FOLDERS),
    answers=st.lists(st.sampled_from(_ANSWERS), min_size=1, max_size=2, unique=True).map(tuple),
    copied=st.booleans(),
    chosen=_visibility,
    starred=st.booleans(),
    forgotten=st.integers(0, 5).map(lambda drawn: drawn == 0),
)
_machines = st.fixed_dictionaries({origin: st.sampled_from(_PERSONS) for origin in ORIGINS})
worlds = st.builds(
    World,
    persons=_machines,
    former=_machines,
    rules=st.dictionaries(
        st.sampled_from(["tea", "mil*", "*", "/home/*", "*/tea", "TEA"]),
        st.sampled_from(Visibility),
        max_size=2,
    ),
    sessions=st.lists(_sessions, min_size=1, max_size=5).map(_build_sessions),
    told=st.lists(
        st.builds(
            Told, origin=st.sampled_from(ORIGINS), name=st.sampled_from((*NAMES, "s-9")), of_call=st.booleans()
        ),
        max_size=4,
    ).map(tuple),
)


def list_seen(world: World, viewer: Viewer) -> tuple[list[Session], list[int]]:
    """Return the sessions and the numbers of the deliveries that somebody may see."""

    def is_whose(person: str | None) -> bool:
        return person is not None and person == viewer.person

    seen = [
        each
        for each in world.left
        if is_whose(world.find_person(each))
        or (viewer.team and world.is_shared(each))
        or each.key == viewer.session
    ]
    told = [
        at
        for at, each in world.deliveries
        if is_whose(world.persons[each.origin])
        or any((one.name, world.find_person(one)) == (each.name, world.persons[each.origin]) for one in seen)
    ]
    return seen, told


def tell_id(owner: str, at: int) -> str:
    """Return the id of a delivery."""
    return f"{owner}/{at:03}"


def put_into(store: MaintainedStore, owner: str, world: World, viewer: Viewer | None = None) -> None:
    """Make a world in a store under an owner: all of it as it came about, or what somebody may see of it."""
    scope = Scope(owner)
    sessions, numbers = list_seen(world, viewer) if viewer else (world.sessions, range(len(world.told)))
    origins = set(ORIGINS) if viewer is None else {each.origin for each in sessions}
    if viewer is not None and viewer.person is not None:
        origins |= {origin for origin, person in world.persons.items() if person == viewer.person}
    for origin in sorted(origins):
        person = world.persons[origin] if viewer else world.former[origin]
        store.save_machine(scope, origin, person=person, host=f"host-{origin}", user="u", at_ns=5)
    original = world.sessions[0].key
    keys = {each.key: each for each in sessions}
    for each in sessions:
        named = original if viewer is None or _may_name(world, keys.get(original), each) else None
        store.apply([each.build(owner, named)])
    store.add_deliveries(scope, [_build_delivery(owner, at, world.told[at]) for at in numbers])
    for each in sessions:
        if each.starred:
            store.mark(scope, [each.key], MarkChange(starred=True, tags=(each.folder,)))
    if viewer is None:
        for each in sessions:
            if each.forgotten:
                store.forget(scope, [each.key])
    for each in sessions:
        store.set_visibility(scope, [each.key], each.chosen)
    for pattern, visibility in world.rules.items():
        store.set_rule(scope, pattern, visibility)
    if viewer is None:
        for origin in ORIGINS:
            store.save_machine(scope, origin, person=world.persons[origin], reassign=True)


def _may_name(world: World, original: Session | None, copy: Session) -> bool:
    return original is not None and world.find_person(original) == world.find_person(copy)


def _build_delivery(owner: str, at: int, told: Told) -> HookDelivery:
    return HookDelivery(
        delivery_id=tell_id(owner, at),
        received_ns=(1_767_312_000 + at) * 1_000_000_000,
        payload=b'{"message":"telling something of a session"}',
        session_id=told.name,
        event_name="PreToolUse",
        tool_use_id=f"call-{told.name}-main-1" if told.of_call else None,
        origin=told.origin,
    )
