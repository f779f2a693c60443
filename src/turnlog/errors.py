"""Every exception that turnlog raises.

    TurnlogError
    ├── DecodeError          a line that `strict=True` refuses; carries the `Problem`
    │   ├── MalformedError   not one JSON object
    │   └── UnknownTypeError a type, subtype or block nobody declared
    ├── AccountError         a user, a token or a link that cannot be what was asked for
    ├── ChangeError          a change or a value that cannot be written
    ├── ConfigError          a configuration file that says something wrong; carries its path
    ├── CursorError          a place in a list that is none, or of another list
    ├── ExportError          a file that cannot be written as asked; carries its path
    ├── HookError            settings of Claude Code that are none, or cannot be written; carries their path
    ├── MarkError            a name, tag or note that may not be kept
    ├── MigrationError       a file that may not or cannot be migrated; carries its path
    ├── MongoError           a database that cannot be reached or refuses, told in one line without secrets
    ├── ProtocolError        a control message that may not be sent; carries the request's id
    ├── PushError            a server that does not take what is pushed; says whether it may later
    ├── QueryError           a search that nobody can understand; carries the place
    ├── SearchCancelledError a search that nobody waits for any more
    ├── SelectionError       turns, branches or sessions that are not there
    ├── ServerError          a server that cannot be started: its port is taken, another one runs
    ├── ServiceError         a service's file that is not ours, or cannot be written; carries its path
    ├── UploadError          what a machine pushed is not taken; carries a code
    └── StoreError           the store cannot do what was asked
        ├── ArchiveError     bytes that are not what was kept; carries their place
        ├── NewerStoreError  a store that a newer version made; it was not touched
        ├── OlderStoreError  a store that an older version made, and that is only to be read
        │   └── FormerStoreError one from before today's schema, which has to be upgraded
        ├── BusyStoreError   another process is writing
        ├── LostStoreError   a database that cannot be reached for now
        ├── TakenMachineError a machine that is another person's
        └── RestoreError     a file that may not be put where it was; carries its path

Bad data is a value (`turnlog.messages.Problem`), misuse is an exception: without `strict=True` no input
raises any of these from `decode`.
"""

from __future__ import annotations


class TurnlogError(Exception):
    """The root of turnlog's exceptions."""


class AccountError(TurnlogError):
    """A user, a token or a link cannot be what was asked for; the text says why, for people to read."""


class DecodeError(TurnlogError):
    """A line does not fit what is known, and the caller asked to be told."""

    def __init__(self, expected: str, found: str, path: str, offset: int | None) -> None:
        self.expected = expected
        self.found = found
        self.path = path
        self.offset = offset
        super().__init__(expected, found, path, offset)

    def __str__(self) -> str:
        where = self.path if self.offset is None else f"{self.path} (byte {self.offset})"
        return f"Expected {self.expected}, found {self.found} - at {where}"


class MalformedError(DecodeError):
    """The line is not one JSON object."""


class UnknownTypeError(DecodeError):
    """The line, or a part of it, has a type or subtype that is not known."""


class ChangeError(TurnlogError):
    """A changed value cannot be written in its dialect."""


class CursorError(TurnlogError):
    """A cursor does not name a place in the list that was asked for."""


class SelectionError(TurnlogError):
    """A session has no such turns or branch, or a dump no such session."""


class MarkError(TurnlogError):
    """A mark cannot be kept: too long, too many, or with characters that do not show."""


class _FileError(TurnlogError):
    """Something is wrong with a file."""

    def __init__(self, reason: str, path: str) -> None:
        self.reason = reason
        self.path = path
        super().__init__(reason, path)

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


class ConfigError(_FileError):
    """The configuration file cannot be read, or says something that nobody knows."""


class ExportError(_FileError):
    """A file cannot be written as asked; nothing was."""


class HookError(_FileError):
    """Hooks cannot be put into Claude Code's settings, or taken out; nothing was changed."""


class MigrationError(_FileError):
    """A file may not be migrated as asked, or changed meanwhile; nothing was written."""


class MongoError(TurnlogError):
    """A MongoDB server cannot be reached, refuses, or is not named as one; the text says no secret."""


class ProtocolError(TurnlogError):
    """A control message may not be sent now, or not by this side."""

    def __init__(self, reason: str, request_id: str | None) -> None:
        self.reason = reason
        self.request_id = request_id
        super().__init__(reason, request_id)

    def __str__(self) -> str:
        return self.reason if self.request_id is None else f"{self.reason} (request {self.request_id})"


class PushError(TurnlogError):
    """A server does not take what is pushed, or cannot be reached."""

    def __init__(self, reason: str, *, status: int = 0, code: str = "", retry_after: float = 0.0) -> None:
        self.reason = reason
        self.status = status
        """What the server answered; 0 if it did not."""
        self.code = code
        self.retry_after = retry_after
        """How many seconds the server wants to be left alone; 0 if it does not say."""
        super().__init__(reason, status, code)

    def __str__(self) -> str:
        return self.reason


class UploadError(TurnlogError):
    """What a machine pushed is not taken; nothing was written."""

    def __init__(self, code: str, reason: str) -> None:
        self.code = code
        self.reason = reason
        super().__init__(code, reason)

    def __str__(self) -> str:
        return self.reason


class SearchCancelledError(TurnlogError):
    """Whoever asked for a search said that nobody waits for it any more."""


class ServerError(TurnlogError):
    """The server cannot be started."""


class QueryError(TurnlogError):
    """A query is not one of the language: what was expected, what was there, and where."""

    def __init__(self, reason: str, at: int) -> None:
        self.reason = reason
        self.at = at
        """How many characters stand before it."""
        super().__init__(reason, at)

    def __str__(self) -> str:
        return f"{self.reason} - at character {self.at + 1}"


class ServiceError(_FileError):
    """A service cannot be installed or removed as asked; nothing was changed."""


class StoreError(TurnlogError):
    """The store cannot do what was asked: a full disk, a damaged file, a batch that follows on nothing."""


class ArchiveError(StoreError):
    """Bytes are not what was kept."""

    def __init__(self, reason: str, source: str, generation: int, offset: int) -> None:
        self.reason = reason
        self.source = source
        self.generation = generation
        self.offset = offset
        super().__init__(reason, source, generation, offset)

    def __str__(self) -> str:
        return f"{self.reason} - at byte {self.offset} of {self.source} (generation {self.generation})"


class NewerStoreError(StoreError):
    """A newer version of turnlog made this store. It was not touched."""


class OlderStoreError(StoreError):
    """An older version of turnlog made this store; opening it for writing brings it up to date."""


class FormerStoreError(OlderStoreError):
    """A store is of an earlier version with other tables; `turnlog upgrade` makes it one of today's."""


class BusyStoreError(StoreError):
    """Another process is writing, and did not end in time."""


class LostStoreError(StoreError):
    """The database cannot be reached, or was gone in the middle; it may be tried again."""


class RestoreError(StoreError):
    """A file may not be written where it was: another one is there, or that is no place for it."""

    def __init__(self, reason: str, path: str) -> None:
        self.reason = reason
        self.path = path
        super().__init__(reason, path)

    def __str__(self) -> str:
        return f"{self.path} {self.reason}"


class TakenMachineError(StoreError):
    """A machine's sessions are another person's already."""
