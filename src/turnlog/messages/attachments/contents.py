"""What was read from a file that is attached: the same five shapes that the Read tool answers with."""

from __future__ import annotations

from turnlog.messages.attachments.base import UnknownAttachment
from turnlog.messages.base import UNSET, Camel, Open, Raw, UnsetType, field

__all__ = [
    "ArtifactRead",
    "ContentBase",
    "FileContent",
    "ImageContent",
    "ImageDimensions",
    "ImageFile",
    "NotebookContent",
    "NotebookFile",
    "PageImage",
    "PartsContent",
    "PartsFile",
    "PdfContent",
    "PdfFile",
    "TextContent",
    "TextFile",
]


class ContentBase(Camel, tag_field="type"):
    """What was read, told apart by its type."""


class TextFile(Camel):
    """Lines of a text file."""

    file_path: str | UnsetType = UNSET
    content: str | UnsetType = UNSET
    num_lines: int | UnsetType = UNSET
    start_line: int | UnsetType = UNSET
    total_lines: int | UnsetType = UNSET
    truncated_by_token_cap: bool | UnsetType = UNSET


class ArtifactRead(Camel):
    """The artifact that a text came from."""

    slug: str | UnsetType = UNSET
    ver: str | UnsetType = UNSET


class TextContent(ContentBase, tag="text"):
    """The text of a file."""

    file: TextFile | UnsetType = UNSET
    artifact_read: ArtifactRead | None | UnsetType = UNSET


class ImageDimensions(Camel):
    """A picture's size, as it is and as it is shown."""

    original_width: int | UnsetType = UNSET
    original_height: int | UnsetType = UNSET
    display_width: int | UnsetType = UNSET
    display_height: int | UnsetType = UNSET


class ImageFile(Camel):
    """The bytes of a picture."""

    base64: str | UnsetType = field(name="base64", default=UNSET)
    type: str | UnsetType = UNSET
    """Its media type."""
    original_size: int | UnsetType = UNSET
    dimensions: ImageDimensions | None | UnsetType = UNSET


class ImageContent(ContentBase, tag="image"):
    """A picture."""

    file: ImageFile | UnsetType = UNSET


class NotebookFile(Camel):
    """The cells of a notebook."""

    file_path: str | UnsetType = UNSET
    cells: Raw | UnsetType = UNSET


class NotebookContent(ContentBase, tag="notebook"):
    """A notebook."""

    file: NotebookFile | UnsetType = UNSET


class PdfFile(Camel):
    """The bytes of a PDF."""

    file_path: str | UnsetType = UNSET
    base64: str | UnsetType = field(name="base64", default=UNSET)
    original_size: int | UnsetType = UNSET


class PdfContent(ContentBase, tag="pdf"):
    """A PDF as a whole."""

    file: PdfFile | UnsetType = UNSET


class PartsFile(Camel):
    """Where the pages of a large PDF were put."""

    file_path: str | UnsetType = UNSET
    original_size: int | UnsetType = UNSET
    count: int | UnsetType = UNSET
    output_dir: str | UnsetType = UNSET


class PageImage(Camel):
    """A page as a picture."""

    base64: str | UnsetType = field(name="base64", default=UNSET)
    media_type: str | UnsetType = UNSET
    error: str | None | UnsetType = UNSET


class PartsContent(ContentBase, tag="parts"):
    """A PDF page by page."""

    file: PartsFile | UnsetType = UNSET
    first_page: int | UnsetType = UNSET
    pages: tuple[PageImage, ...] | None | UnsetType = UNSET


FileContent = Open[
    TextContent | ImageContent | NotebookContent | PdfContent | PartsContent,
    UnknownAttachment,
]
