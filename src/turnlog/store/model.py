"""What is kept: what things are called, whose they are, where a store is, and a session as lists have it.

A line is identified by its origin (which machine), source (which file), generation (a file that was rewritten
starts a new one) and byte offset. The path of a file is an attribute: files are moved. A source is named after
its origin and the path at which it was first seen, so whoever syncs first and in whatever order, the names are
the same.

A session is the person's whose machine it comes from. It is private, or shared with the team: as that person
chose, else as a rule for its project says, else it is private. The store itself knows people by name only;
`turnlog.store.accounts` knows more of them. Every query takes a `Scope`. With a `Viewer` it answers as if there
were only what that viewer may see: what is hidden is not found, counted, added up, or told of as a change.

A store is in a file of its own, or on a database server that an address names. Whichever it is, there is a
folder on this machine for what belongs to the machine: tokens, hook deliveries that wait, its name. For a store
in a file it is the folder of that file.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from hashlib import blake2b
from math import inf, nan
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace


class SourceKind(StrEnum):
    """What a file is for."""

    __hash__ = str.__hash__  # that of enums is written in Python

    TRANSCRIPT = "transcript"
    AGENT = "agent"
    AGENT_META = "agent-meta"
    JOURNAL = "journal"
    """Of a workflow's run."""
    WORKFLOW = "workflow"
    """The record of a workflow's run."""
    TOOL_RESULT = "tool-result"
    META = "meta"
    """Facts about the session, as its title."""
    OTHER = "other"
    CAPTURE = "capture"
    """Lines that tell of a session or an agent once more: its stream, or the shorter of file and mirror."""

    @property
    def has_lines(self) -> bool:
        """Whether it is read line by line; any other file is kept as a whole."""
        return self in _LINES


_LINES = frozenset({SourceKind.TRANSCRIPT, SourceKind.AGENT, SourceKind.JOURNAL, SourceKind.CAPTURE})


class Viewer(Struct, frozen=True, gc=False, kw_only=True):
    """Who looks, where not all of an owner's sessions may be seen: those of which any of this is true."""

    person: str | None = None
    """Sees what is this person's."""
    team: bool = False
    """Sees what is shared with the team."""
    session: str | None = None
    """Sees the session with this key, whosever it is."""


class Scope(Struct, frozen=True, gc=False):
    """Whose data may be seen. Every query takes one, and answers as if there were nothing else."""

    owner: str
    viewer: Viewer | None = None
    """None if all of the owner's data may be seen."""


LOCAL = Scope("local")
"""The one owner of an embedded store."""


class Place(Struct, frozen=True, gc=False, order=True):
    """Where bytes are: of which file, which time round, from where."""

    source: str
    generation: int
    offset: int


def name_source(origin: str, path: str) -> str:
    """Return the name of a file that is first seen at an origin under a path."""
    digest = blake2b(digest_size=16)
    for part in (origin, path):
        data = part.encode("utf-8", "surrogateescape")
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return digest.hexdigest()


class SessionHead(Struct, frozen=True, gc=False, kw_only=True, array_like=True):
    """The first message of a transcript that another line follows: by it copies are told."""

    uuid: str
    type: str
    time: int | None
    told_id: str | None
    """The session that the line behind it names."""


class SessionRow(Struct, frozen=True, gc=False, kw_only=True, array_like=True):
    """A session in the lists."""

    session_id: str | None
    title: str | None
    project: str | None
    first_time: int | None
    last_time: int | None
    prompts: int
    answers: int
    calls: int
    agents: int
    lines: int
    problems: int
    input_tokens: int
    output_tokens: int
    cost: str | None
    summary: bytes = b""
    """All of it: `transcripts.Summary` as JSON; lists leave it out."""
    messages: int = 0
    """Of the transcript."""
    errors: int = 0
    """Calls and requests that failed."""
    models: tuple[str, ...] = ()
    branches: tuple[str, ...] = ()
    """Of git."""
    series: str | None = None
    """What all sessions have in common that programs started with the same prompt: see `Summary`."""
    first_prompt: str | None = None
    """As far as lists show it."""
    forked_from: str | None = None
    is_floor: bool = False
    """Whether something was used of which the cost does not know, or not all."""
    is_estimate: bool = False
    """Whether the price list lacks some of the terms."""
    head: SessionHead | None = None


class Visibility(StrEnum):
    """Who sees a session, besides its owner and admins."""

    PRIVATE = "private"
    TEAM = "team"


class Machine(Struct, frozen=True, gc=False, kw_only=True):
    """Where sessions come from: one user's account on one computer."""

    origin: str
    person: str | None = None
    """The owner of these sessions; None if there is none."""
    host: str = ""
    """As the computer calls itself."""
    user: str = ""
    """As the system there calls the account."""
    first_ns: int
    last_ns: int
    """When something came from it for the first and the last time."""
    sessions: int = 0
    """How many the store has of it; of those that may be seen."""


class ProjectRule(Struct, frozen=True, gc=False):
    """Who sees the sessions of some projects, where their persons did not choose."""

    pattern: str
    """Of the project's path, with `*` for anything: `*/website`, `/srv/*`. The longest one that fits counts."""
    visibility: Visibility


class SessionAccess(Struct, frozen=True, gc=False, kw_only=True):
    """Who may see a session, and why."""

    key: str
    origin: str
    person: str | None
    chosen: Visibility | None
    """What the person said; None if the rules decide."""
    rule: str | None
    """The pattern of the rule that matches its project; None if none does."""
    visibility: Visibility
    """What follows from all of it."""


class PeopleStore(Protocol):
    """What a store does for people."""

    def save_machine(
        self,
        scope: Scope,
        origin: str,
        *,
        person: str | None = None,
        host: str = "",
        user: str = "",
        at_ns: int | None = None,
        reassign: bool = False,
    ) -> Machine:
        """Remember that something came from a machine, and whose it is; its sessions are theirs from now on.

        A machine that is somebody's stays theirs: raises `TakenMachineError` if it is another person's.
        Without `person`, nothing is said about that. Empty names leave those that are known; without `at_ns` it
        came just now.

        With `reassign` only its person changes, whosever it was, and to nobody without `person`. Raises
        `KeyError` for a machine that is not known.
        """

    def list_machines(self, scope: Scope) -> list[Machine]:
        """Return machines by host, user and origin: for a viewer, theirs and those of sessions they see."""

    def list_access(self, scope: Scope, keys: Collection[str] | None = None) -> list[SessionAccess]:
        """Return who may see sessions, all or those of some keys that are there, by key."""

    def set_visibility(
        self, scope: Scope, keys: Sequence[str], chosen: Visibility | None
    ) -> list[SessionAccess]:
        """Say who sees sessions, and return those of which it was not so before.

        None leaves it to the rules. A viewer can say so of their own only; all others are left out.
        """

    def list_rules(self, scope: Scope) -> list[ProjectRule]:
        """Return the rules for projects, by pattern; everybody may know them."""

    def set_rule(
        self, scope: Scope, pattern: str, visibility: Visibility | None, *, dry_run: bool = False
    ) -> int:
        """Set or (with None) remove a rule, and return how many sessions others see, or don't, by that.

        With `dry_run`, nothing is changed.
        """


def find_access(store: PeopleStore, scope: Scope, key: str) -> SessionAccess | None:
    """Return who may see a session; None if it is not there."""
    return next(iter(store.list_access(scope, [key])), None)


STORE_SETTING = "TURNLOG_STORE"
"""The name in the environment that says on which server a store is."""
BLOBS_SETTING = "TURNLOG_BLOBS"
"""That of where such a store keeps bytes and segments, unless in its tables."""
GRACE_SETTING = "TURNLOG_BLOBS_GRACE"
"""That of for how many hours blobs stay that nothing refers to any more."""
INDEX_SETTING = "TURNLOG_INDEX"
"""That of where such a store has its index of texts and usage, unless in its tables."""
PLACE_SETTINGS = STORE_SETTING, BLOBS_SETTING, GRACE_SETTING, INDEX_SETTING

ARCHIVE_SCHEMA = "turnlog_archive"
"""Where a server has the archive."""
ACCOUNTS_SCHEMA = "turnlog_accounts"
"""Where a server has the accounts."""

_SCHEMES = "postgresql", "postgres"
_INDEX_SCHEMES = "clickhouse", "clickhouses", "chdb"


class BlobPlace(Struct, frozen=True):
    """Where a store on a server keeps sealed frames and full segments, instead of in its tables."""

    address: str
    """`s3://bucket/prefix?endpoint=…&region=…`, a folder's path or its file URL; it may hold a secret."""
    grace_hours: float = 24.0
    """How long blobs stay that nothing refers to any more."""

    def __str__(self) -> str:
        """Return the address as it may be shown: without keys."""
        parts = urlsplit(self.address)
        return f"s3://{parts.netloc.rpartition('@')[2]}{parts.path}" if parts.scheme == "s3" else self.address


class IndexPlace(Struct, frozen=True):
    """Where a store on a server has texts searched and answers added up, instead of in its tables."""

    address: str
    """`clickhouse://host:8123/database`, with TLS `clickhouses://`; it may hold a password."""

    def __str__(self) -> str:
        """Return the address as it may be shown: without a password."""
        return _hide_password(self.address)


class ServerPlace(Struct, frozen=True):
    """A store on a database server."""

    address: str
    """As the engine's driver takes it; it may hold a password, and is not shown."""
    home: Path
    schema: str = ARCHIVE_SCHEMA
    """Which has the tables."""
    blobs: BlobPlace | None = None
    """None if the tables have everything."""
    index: IndexPlace | None = None
    """Where texts are searched and answers added up; None if that is in the tables, too."""

    def __str__(self) -> str:
        """Return the address as it may be shown: without a password."""
        return _hide_password(self.address)


def _hide_password(address: str) -> str:
    parts = urlsplit(address)
    user, at, host = parts.netloc.rpartition("@")
    return f"{parts.scheme}://{user.partition(':')[0]}{at}{host}{parts.path}"


StorePlace = Path | ServerPlace
"""A path is that of a store's own file."""


def home_of(place: StorePlace) -> Path:
    """Return the folder for what belongs to this machine."""
    return place.home if isinstance(place, ServerPlace) else place.parent


def find_blob_place(place: StorePlace) -> BlobPlace | None:
    """Return where a store has its blobs, if it has any."""
    return place.blobs if isinstance(place, ServerPlace) else None


def find_index_place(place: StorePlace) -> IndexPlace | None:
    """Return where a store has its index, if that is elsewhere."""
    return place.index if isinstance(place, ServerPlace) else None


def is_made(place: StorePlace) -> bool:
    """Tell whether there is a store: a file is there or not, and a server is asked when it is opened."""
    return isinstance(place, ServerPlace) or place.exists()


def parse_address(address: str, home: Path) -> ServerPlace:
    """Return the place that an address names; raises `ValueError`, which does not repeat the address."""
    try:
        scheme = urlsplit(address).scheme
    except ValueError as error:
        raise ValueError("Expected the address of a database server, got something else") from error
    if scheme in _INDEX_SCHEMES:
        raise ValueError(
            f"An archive is on postgresql://…; ClickHouse has its index ({INDEX_SETTING}). What older versions "
            "kept there, write out with those (`turnlog export --raw`), and `turnlog sync` it; docs/team.md"
        )
    if scheme not in _SCHEMES:
        known = " or ".join(f"{name}://…" for name in _SCHEMES)
        raise ValueError(
            f"Expected an address such as {known}, got {f'one of {scheme}' if scheme else 'no address'}"
        )
    return ServerPlace(address, home)


def find_place(env: Mapping[str, str], home: Path) -> ServerPlace | None:
    """Return the place on a server that the environment names, None if it names none; raises `ValueError`."""
    address = env.get(STORE_SETTING)
    if not address:
        return None
    return replace(parse_address(address, home), blobs=find_blobs(env), index=find_index(env))


def find_blobs(env: Mapping[str, str]) -> BlobPlace | None:
    """Return where the environment says that blobs are; raises `ValueError`, which does not repeat it."""
    address = env.get(BLOBS_SETTING)
    if not address:
        return None
    if not env.get(STORE_SETTING):
        raise ValueError(f"An archive in a file has all of it there; blobs need {STORE_SETTING}=postgresql://…")
    scheme, has_scheme, _ = address.partition("://")
    if has_scheme and scheme not in ("s3", "file"):
        raise ValueError("Expected s3://bucket/prefix, or a folder's path, got something else")
    try:
        hours = float(env.get(GRACE_SETTING) or 24)
    except ValueError:
        hours = nan
    if not 0 <= hours < inf:
        raise ValueError(f"Expected hours in {GRACE_SETTING}, got {env[GRACE_SETTING]!r}")
    return BlobPlace(address, hours)


def find_index(env: Mapping[str, str]) -> IndexPlace | None:
    """Return where the environment says that the index is; raises `ValueError`, which does not repeat it."""
    address = env.get(INDEX_SETTING)
    if not address:
        return None
    if not env.get(STORE_SETTING):
        raise ValueError(
            f"An archive in a file has its index there; another one needs {STORE_SETTING}=postgresql://…"
        )
    if address.partition("://")[0] not in _INDEX_SCHEMES:
        raise ValueError("Expected an address such as clickhouse://host:8123/database, got something else")
    return IndexPlace(address)


def name_place(env: Mapping[str, str], place: StorePlace) -> dict[str, str]:
    """Return an environment in which `find_place` finds a place: it may hold a password, and arguments show."""
    named = {name: value for name, value in env.items() if name not in PLACE_SETTINGS}
    if isinstance(place, ServerPlace):
        named[STORE_SETTING] = place.address
        if place.blobs is not None:
            named |= {BLOBS_SETTING: place.blobs.address, GRACE_SETTING: str(place.blobs.grace_hours)}
        if place.index is not None:
            named[INDEX_SETTING] = place.index.address
    return named
