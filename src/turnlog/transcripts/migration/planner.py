"""What is to be corrected in a file of stored messages, told from ids alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Sequence

from turnlog.messages import Dialect, Line, Position
from turnlog.messages.legacy import StoredType
from turnlog.transcripts.calls.links import find_parent
from turnlog.transcripts.calls.results import Place
from turnlog.transcripts.conversation.order import cut_circles
from turnlog.transcripts.migration.report import Correction, CorrectionKind, Leftover, LeftReason, Migration
from turnlog.transcripts.migration.stored_parents import StoredParents
from turnlog.transcripts.migration.stored_tools import ToolDocument

_PARENT_KINDS = {
    StoredType.TOOL_USE: CorrectionKind.CALL_PARENT,
    StoredType.TOOL_RESULT: CorrectionKind.RESULT_PARENT,
}


class MigrationPlanner:
    """Takes the lines of one file, and then tells which documents are to be corrected."""

    def __init__(self) -> None:
        self._parents = StoredParents()
        self._tools: list[ToolDocument] = []
        self._told: dict[str, str | None] = {}  # the parent that each message names
        self._left: list[Leftover] = []
        self._documents = 0

    def add(self, line: Line) -> None:
        """Take the next line of a file."""
        if line.dialect is Dialect.UNKNOWN:
            assert line.at is not None
            self.leave(line.at, LeftReason.BROKEN)
            return
        self._documents += 1
        document = self._parents.add(line)
        if document is not None:
            self._tools.append(document)
        uuid = Place(line, 0).uuid
        if uuid is not None:
            self._told.setdefault(uuid, find_parent(line))

    def leave(self, at: Position, reason: LeftReason, uuid: str | None = None) -> None:
        """Note something that stays as it is."""
        self._left.append(Leftover(at, reason, uuid))

    def build(self) -> Migration:
        """Return what is to be done."""
        homes = [self._parents.find_home(document) for document in self._tools]
        circling = self._list_circling(homes)
        corrections: list[Correction] = []
        right = 0
        for document, home in zip(self._tools, homes, strict=True):
            reason = self._find_obstacle(document, home, circling)
            correction = _correct(document, None if reason else str(home))
            if reason is not None:
                self.leave(document.at, reason, document.uuid)
            if correction is not None:
                corrections.append(correction)
            right += reason is None and correction is None
        kinds = Counter(document.kind for document in self._tools)
        return Migration(
            documents=self._documents,
            tool_uses=kinds[StoredType.TOOL_USE],
            tool_results=kinds[StoredType.TOOL_RESULT],
            right=right,
            corrections=tuple(corrections),
            left=tuple(sorted(self._left, key=lambda leftover: leftover.at.offset)),
        )

    def _find_obstacle(
        self, document: ToolDocument, home: str | LeftReason, circling: Container[str | None]
    ) -> LeftReason | None:
        if isinstance(home, LeftReason):
            return home
        return LeftReason.CIRCLE if home != document.parent and document.uuid in circling else None

    def _list_circling(self, homes: Sequence[str | LeftReason]) -> set[str]:
        """Return the uuids that would lead round in a circle if every document went to its home."""
        told = dict(self._told)
        for document, home in zip(self._tools, homes, strict=True):
            if document.uuid is not None and not isinstance(home, LeftReason):
                told[document.uuid] = home
        positions = {uuid: position for position, uuid in enumerate(told)}
        parents = [None if parent is None else positions.get(parent) for parent in told.values()]
        whole, uuids, circling = list(parents), list(told), set[str]()
        for first in cut_circles(parents):
            at: int | None = first
            while at is not None and uuids[at] not in circling:
                circling.add(uuids[at])
                at = whole[at]
        return circling


def _correct(document: ToolDocument, home: str | None) -> Correction | None:
    """Return what is to be changed in a document, or None; without a home its parent is left."""
    kinds: list[CorrectionKind] = []
    moves = home is not None and home != document.parent
    if moves:
        kinds.append(_PARENT_KINDS[document.kind])
    if not document.is_sidechain:
        kinds.append(CorrectionKind.SIDECHAIN)
    if not kinds:
        return None
    return Correction(
        at=document.at,
        size=document.size,
        uuid=document.uuid,
        kinds=tuple(kinds),
        old_parent=document.parent,
        parent=home if moves else None,
    )
