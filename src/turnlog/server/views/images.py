"""Images: each is known by its line and by its place among the images of that line."""

from __future__ import annotations

from binascii import Error, a2b_base64
from urllib.parse import quote

from msgspec import Struct

from turnlog.messages import Line
from turnlog.messages.blocks import ToolResultBlock
from turnlog.messages.media import Base64Source, ImageBlock
from turnlog.server.shapes.calls import Image
from turnlog.transcripts.lines.blocks import list_blocks
from turnlog.transcripts.queries.chapters import Chapter

_SHOWN = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""What a page may show. Any other kind, as SVG, which can hold scripts, is sent as mere bytes."""
_BYTES = "application/octet-stream"


class Picture(Struct, frozen=True, gc=False):
    """The bytes of an image."""

    media_type: str
    data: bytes


def list_images(line: Line) -> list[ImageBlock]:
    """Return the images of a line, those in the results of calls too, in order."""
    found: list[ImageBlock] = []
    for block in list_blocks(line.entry):
        inside = block.content if isinstance(block, ToolResultBlock) else (block,)
        if isinstance(inside, tuple):
            found += (each for each in inside if isinstance(each, ImageBlock))
    return found


def has_bytes(image: ImageBlock) -> bool:
    """Tell whether the bytes of an image stand in its line; those of others are somewhere on the network."""
    return isinstance(image.source, Base64Source)


def view_image(image: ImageBlock, line: Line, session: str, chapter: Chapter) -> Image:
    """Return where the bytes of an image are, which is in a line of a chapter; `session` is a key."""
    number = next(place for place, each in enumerate(list_images(line)) if each is image)
    offset = 0 if line.at is None else line.at.offset
    parts = (session, "images", chapter.source, str(chapter.facts.generation), str(offset), str(number))
    return Image(
        href="/api/sessions/" + "/".join(quote(part, safe="") for part in parts), media_type=_kind_of(image)
    )


def find_picture(line: Line, number: int) -> Picture | None:
    """Return an image of a line; None if there is none, or none whose bytes are here."""
    images = list_images(line)
    if not 0 <= number < len(images):
        return None
    source = images[number].source
    if not isinstance(source, Base64Source):
        return None
    try:
        return Picture(_kind_of(images[number]), a2b_base64(source.data.encode("ascii", "replace")))
    except Error:
        return None


def _kind_of(image: ImageBlock) -> str:
    source = image.source
    kind = source.media_type if isinstance(source, Base64Source) else None
    return kind if isinstance(kind, str) and kind in _SHOWN else _BYTES
