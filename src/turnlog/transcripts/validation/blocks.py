"""What the blocks of a message are held to: images that can be shown, calls that say what they call."""

from __future__ import annotations

import binascii
from collections.abc import Collection, Sequence

from turnlog.messages import UNSET, Dialect, Line
from turnlog.messages.blocks import ContentBlock, ToolResultBlock, ToolUseBlock
from turnlog.messages.legacy import Api003, Document003, StoredType
from turnlog.messages.media import Base64Source, ImageBlock
from turnlog.messages.message import Message
from turnlog.messages.spans import Path
from turnlog.transcripts.validation.findings import Report, Spot, join, quote
from turnlog.transcripts.validation.spec_000 import TOOL_FIELDS
from turnlog.transcripts.validation.spec_004 import CORRELATION, IMAGES

_CONTENT: Path = ("message", "content")
_IMAGE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")


def place_of(line: Line) -> Path:
    """Return where the blocks of a line's message stand."""
    wire = line.wire
    if not isinstance(wire, Document003 | Api003):
        return _CONTENT
    if isinstance(wire.message_data, Message):
        return ("messageData" if isinstance(wire, Document003) else "message_data", "content")
    whole = isinstance(wire, Document003) and isinstance(wire.message, Message)
    return _CONTENT if whole else ("content",)


def check_blocks(
    line: Line, blocks: Sequence[ContentBlock], faults: Collection[Path], spot: Spot, report: Report
) -> None:
    """Check the blocks of a line's message, and those of the results among them."""
    waiting: list[tuple[Sequence[ContentBlock], Path | None]] = [(blocks, None)]
    for inner, told in waiting:  # grows while it is walked: results may hold blocks
        for index, block in enumerate(inner):
            kind = type(block)
            if kind is not ToolUseBlock and kind is not ToolResultBlock and kind is not ImageBlock:
                continue
            steps = (*(place_of(line) if told is None else told), index)
            match block:
                case ImageBlock():
                    _check_image(block, steps, spot, report)
                case ToolUseBlock():
                    _check_call(line, block, steps, spot, report)
                case ToolResultBlock():
                    _check_result(block, steps, faults, spot, report)
                    if isinstance(block.content, tuple):
                        waiting.append((block.content, (*steps, "content")))


def _check_call(line: Line, block: ToolUseBlock, steps: Path, spot: Spot, report: Report) -> None:
    if block.input is not UNSET or spot.dialect is Dialect.SPEC_000:
        return
    if isinstance(line.wire, Document003 | Api003) and line.wire.type is StoredType.TOOL_USE:
        steps = ("content",)  # which is a text: the block is in it
    report.add(TOOL_FIELDS, spot, "Expected `input` in a `tool_use`, found nothing", steps)


def _check_result(
    block: ToolResultBlock, steps: Path, faults: Collection[Path], spot: Spot, report: Report
) -> None:
    if not block.tool_use_id and (*steps, "tool_use_id") not in faults:
        report.add(CORRELATION, spot, "Expected `tool_use_id` in a `tool_result`, found nothing", steps)


def _check_image(block: ImageBlock, steps: Path, spot: Spot, report: Report) -> None:
    source = block.source
    if not isinstance(source, Base64Source):
        if spot.dialect is Dialect.SPEC_004:  # the API has come to know addresses and files, too
            report.add(
                IMAGES, spot, f"Expected a `base64` source, found {quote(source.type)}", (*steps, "source")
            )
        return
    if source.media_type not in _IMAGE_TYPES:
        found = "nothing" if source.media_type is UNSET else quote(source.media_type)
        message = f"Expected one of {join(_IMAGE_TYPES, 'or')}, found {found}"
        report.add(IMAGES, spot, message, (*steps, "source", "media_type"))
    flaw = _find_flaw(source.data)
    if flaw is not None:
        report.add(IMAGES, spot, f"Expected base64, found {flaw}", (*steps, "source", "data"))


def _find_flaw(data: str) -> str | None:
    """Return what is wrong with a text that should be base64; None if nothing is."""
    if not data:
        return "nothing"
    try:
        binascii.a2b_base64(data, strict_mode=True)
    except ValueError as error:  # `binascii.Error` is one
        return f"other text ({error})"
    return None
