"""What any line is held to, whatever its dialect: that it can be read, and that all of it is known.

Decoding has found all of this already. A problem that a spec has a rule of its own for is reported under that
rule, and only the rest under these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from turnlog.messages import Dialect, Line, Problem, ProblemKind
from turnlog.messages.entries import UnknownEntry
from turnlog.transcripts.files.records import Tail
from turnlog.transcripts.validation.findings import Report, Spot, clean
from turnlog.transcripts.validation.rules import ALL, Rule, declare

_MALFORMED = declare(
    "line-malformed",
    "",
    "A line is one JSON object, in UTF-8",
    "Anything else cannot be read.",
    error=ALL,
)
_GLUED = declare(
    "line-glued",
    "",
    "A line has only one object",
    "Two writers at once can join objects on one line; readers that expect one object lose both.",
    warning=ALL,
)
_BAD_TEXT = declare(
    "line-bad-text",
    "",
    "Strings are valid text",
    "Strict readers refuse lines with lone surrogates, bytes that are not UTF-8, or byte-order marks.",
    warning=ALL,
)
_TORN = declare(
    "line-torn",
    "",
    "The last line is complete",
    "The file may still be being written; if it is not, the rest of the line is lost.",
    note=ALL,
)
_MISSING_TYPE = declare(
    "line-missing-type",
    "",
    "A line says its type",
    "Without it nobody knows what the line is.",
    error=ALL,
)
_UNKNOWN_TYPE = declare(
    "line-unknown-type",
    "",
    "Types, subtypes and blocks are known",
    "New versions add some every few weeks. They are kept, and shown as unknown.",
    note=ALL,
)
_UNKNOWN_FIELD = declare(
    "line-unknown-field",
    "",
    "Fields are known",
    "New versions add some. They are kept, but not interpreted.",
    note=ALL,
)
_UNKNOWN_VALUE = declare(
    "line-unknown-value",
    "",
    "Values of enums are known",
    "New versions add some. They are kept unchanged.",
    note=ALL,
)
_WRONG_TYPE = declare(
    "line-wrong-type",
    "",
    "Fields have values of the right type",
    "A field with any other value reads as if it were absent.",
    warning=ALL,
)
_MISSING_FIELD = declare(
    "line-missing-field",
    "",
    "Mandatory fields are present",
    "Without them the object, or the whole line, reads as unknown.",
    warning=ALL,
)

_TOO_LONG = declare(
    "line-too-long",
    "",
    "A line has at most 16 MB",
    "Of a longer one, the first 16 MB are read and searched. All of its bytes are kept.",
    warning=ALL,
)

LINE_RULES = (
    _MALFORMED,
    _GLUED,
    _BAD_TEXT,
    _TORN,
    _MISSING_TYPE,
    _UNKNOWN_TYPE,
    _UNKNOWN_FIELD,
    _UNKNOWN_VALUE,
    _WRONG_TYPE,
    _MISSING_FIELD,
    _TOO_LONG,
)

_BY_KIND: Mapping[ProblemKind, Rule] = MappingProxyType(
    {
        ProblemKind.MALFORMED: _MALFORMED,
        ProblemKind.GLUED: _GLUED,
        ProblemKind.BAD_TEXT: _BAD_TEXT,
        ProblemKind.UNKNOWN_TYPE: _UNKNOWN_TYPE,
        ProblemKind.UNKNOWN_FIELD: _UNKNOWN_FIELD,
        ProblemKind.UNKNOWN_VALUE: _UNKNOWN_VALUE,
        ProblemKind.WRONG_TYPE: _WRONG_TYPE,
        ProblemKind.MISSING_FIELD: _MISSING_FIELD,
        ProblemKind.TOO_LONG: _TOO_LONG,
    }
)

Claim = Callable[[Line, Problem], Rule | None]
"""Returns the rule of a spec that a problem of a line breaks, or None if the spec has none for it."""


def report_problems(line: Line, spot: Spot, report: Report, claims: Mapping[Dialect, Claim]) -> None:
    """Report what decoding found wrong or unknown."""
    claim = claims.get(line.dialect)
    for problem in line.problems:
        rule = None if claim is None else claim(line, problem)
        if rule is None and isinstance(line.entry, UnknownEntry) and line.entry.type is None:
            rule = _MISSING_TYPE if problem.kind is ProblemKind.UNKNOWN_TYPE else None
        message = f"Expected {clean(problem.expected)}, found {clean(problem.found)}"
        # Where it is not known, finding the offset would take a scan of the line for each problem.
        if problem.known_offset is not None:
            message = f"{message} (byte {problem.known_offset})"
        report.add(rule or _BY_KIND[problem.kind], spot, message, problem.steps)


def report_tail(tail: Tail, spot: Spot, report: Report) -> None:
    """Report what stands at the end of a file and is no line."""
    report.add(_TORN, spot, f"Expected the end of the line, found the end of the file after {tail.size} bytes")
