"""Spec 003: five rules for messages and four checks of consistency.

They speak of messages as a database keeps them, with calls and results taken out of their messages. `threads`
and `pairing` find what breaks them. A tool message whose parent is not there is an orphan, and is reported as
that alone. Calls without a result and times that run backwards occur wherever the documents were made from real
sessions, and only "should" and "checks" forbid them: they are warnings.
"""

from __future__ import annotations

from turnlog.messages import Dialect, Line, Problem, ProblemKind
from turnlog.messages.legacy import StoredType
from turnlog.transcripts.lines.blocks import find_stored_type
from turnlog.transcripts.validation.rules import CODE, STORED, Rule, declare
from turnlog.transcripts.validation.spec_000 import STRUCTURE, TOOL_FIELDS

_OLD = (Dialect.SPEC_000, Dialect.SPEC_004)

PARENT_GIVEN = declare(
    "003-1-parent-given",
    "Message Validation, 1",
    "A message has a parent, unless it starts a conversation",
    "The first message of a session starts one, and so does a user; any other message has to follow something.",
    error=STORED,
)
PARENT_IN_SESSION = declare(
    "003-2-parent-in-session",
    "Message Validation, 2",
    "A parent is a message in the same session",
    "A thread belongs to one session. Real sessions that continue another one refer to its messages.",
    error=STORED,
    note=CODE,
)
TOOL_SIDECHAIN = declare(
    "003-3-tool-sidechain",
    "Message Validation, 3",
    "Tool messages are marked as sidechain messages",
    "Without the mark they appear in the main conversation.",
    error=STORED,
)
RESULT_PARENT = declare(
    "003-4-result-parent",
    "Message Validation, 4",
    "The parent of a tool result is a tool use",
    "This is how a result is found under its call. In spec 000's dialect, the order is used as a guess.",
    error=STORED,
    note=(Dialect.SPEC_000,),
)
TOOL_CHILDREN = declare(
    "003-5-tool-children",
    "Message Validation, 5",
    "An answer that calls tools has tool messages as children, in files that have any",
    "Calls that were not extracted from their message are missing from the sidechain panel.",
    warning=(*STORED, *CODE),
)
NO_CYCLES = declare(
    "003-C1-no-cycles",
    "Consistency Checks, 1",
    "Parents do not form a cycle",
    "Following them never reaches the start.",
    error=STORED,
    warning=(*CODE, Dialect.SPEC_000),
)
ORPHANED_TOOL = declare(
    "003-C2-orphaned-tool",
    "Consistency Checks, 2",
    "Tool messages are in their place: a tool use under its answer, a result under its call",
    "An orphan is shown by itself, or not at all. `turnlog migrate` corrects parents in the older structure.",
    error=STORED,
    warning=(Dialect.SPEC_000,),
)
PAIRED = declare(
    "003-C3-paired",
    "Consistency Checks, 3",
    "Every tool use has one result, and every result in a message a tool use",
    "A call without one was interrupted, or is still running.",
    warning=STORED,
    note=(*CODE, *_OLD),
)
CHRONOLOGY = declare(
    "003-C4-chronology",
    "Consistency Checks, 4",
    "A message is not older than its parent",
    "Times that run backwards are shown as they are; the order of the file counts.",
    warning=STORED,
    note=CODE,
)

RULES_003 = (
    PARENT_GIVEN,
    PARENT_IN_SESSION,
    TOOL_SIDECHAIN,
    RESULT_PARENT,
    TOOL_CHILDREN,
    NO_CYCLES,
    ORPHANED_TOOL,
    PAIRED,
    CHRONOLOGY,
)


def claim(line: Line, problem: Problem) -> Rule | None:
    """Return the rule that a problem breaks, or None."""
    unread = problem.kind not in (ProblemKind.UNKNOWN_FIELD, ProblemKind.UNKNOWN_VALUE)
    if unread and problem.steps[:1] == ("content",) and find_stored_type(line) is StoredType.TOOL_USE:
        return TOOL_FIELDS
    if problem.kind is ProblemKind.WRONG_TYPE and problem.steps == ("message",):
        return STRUCTURE
    return None
