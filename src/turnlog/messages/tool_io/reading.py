"""The Read tool: one input, and a result for each kind of file."""

from __future__ import annotations

from typing import ClassVar

from turnlog.messages.base import UNSET, Camel, Open, Snake, UnknownBlock, UnsetType, field


class ReadInput(Snake):
    """A file to read, or a part of it."""

    file_path: str
    offset: int | UnsetType = UNSET
    """The first line, counted from 1."""
    limit: int | UnsetType = UNSET
    pages: str | UnsetType = UNSET
    """A range of a PDF's pages, such as `1-5`."""
    allow_large: bool | UnsetType = UNSET


class NotebookReadInput(Snake):
    """A notebook to read; version 1 had a tool of its own for it."""

    notebook_path: str
    cell_id: str | UnsetType = UNSET


class ArtifactRead(Camel):
    """The published artifact that was read."""

    slug: str
    ver: str | UnsetType = UNSET
    seeded: bool | UnsetType = UNSET


class ReadResultBase(Camel, tag_field="type"):
    """What every result of Read has: a type."""

    type: ClassVar[str]


class TextFile(Camel):
    """Lines of a text file."""

    file_path: str
    content: str
    num_lines: int | UnsetType = UNSET
    start_line: int | UnsetType = UNSET
    total_lines: int | UnsetType = UNSET
    truncated_by_token_cap: bool | UnsetType = UNSET


class ReadTextResult(ReadResultBase, tag="text"):
    """A text file, or a part of it."""

    file: TextFile
    artifact_read: ArtifactRead | None | UnsetType = UNSET


class ImageDimensions(Camel):
    """How large an image is, and how large the model saw it."""

    original_width: int | UnsetType = UNSET
    original_height: int | UnsetType = UNSET
    display_width: int | UnsetType = UNSET
    display_height: int | UnsetType = UNSET


class ImageFile(Camel):
    """An image's bytes."""

    base64: str
    type: str | UnsetType = UNSET
    """The media type, such as `image/png`."""
    original_size: int | UnsetType = UNSET
    dimensions: ImageDimensions | None | UnsetType = UNSET
    file_path: str | UnsetType = UNSET


class ReadImageResult(ReadResultBase, tag="image"):
    """An image."""

    file: ImageFile


class NotebookPicture(Snake):
    """A picture that a cell drew."""

    image_data: str
    media_type: str | UnsetType = UNSET


class NotebookOutput(Snake):
    """Something that a cell printed or drew."""

    output_type: str
    text: str | UnsetType = UNSET
    image: NotebookPicture | UnsetType = UNSET


class NotebookCell(Snake):
    """A cell of a notebook."""

    cell_type: str | UnsetType = field(name="cellType", default=UNSET)
    """`code` or `markdown`."""
    source: str
    cell_id: str | UnsetType = UNSET
    cell: int | UnsetType = UNSET
    """How early versions numbered the cell."""
    execution_count: int | None | UnsetType = UNSET
    language: str | UnsetType = UNSET
    outputs: tuple[NotebookOutput, ...] | UnsetType = UNSET


class NotebookFile(Camel):
    """A notebook's cells."""

    file_path: str
    cells: tuple[NotebookCell, ...]


class ReadNotebookResult(ReadResultBase, tag="notebook"):
    """A notebook."""

    file: NotebookFile


class PdfFile(Camel):
    """A PDF's bytes."""

    file_path: str
    base64: str
    original_size: int | UnsetType = UNSET


class ReadPdfResult(ReadResultBase, tag="pdf"):
    """A PDF that was read whole."""

    file: PdfFile


class PdfPartsFile(Camel):
    """A PDF that was split into pictures of its pages."""

    file_path: str
    original_size: int | UnsetType = UNSET
    count: int | UnsetType = UNSET
    output_dir: str | UnsetType = UNSET


class PageImage(Camel):
    """A picture of a page."""

    base64: str
    media_type: str | UnsetType = UNSET
    error: str | None | UnsetType = UNSET


class ReadPartsResult(ReadResultBase, tag="parts"):
    """Some pages of a PDF, as pictures."""

    file: PdfPartsFile
    first_page: int | UnsetType = UNSET
    pages: tuple[PageImage, ...] | None | UnsetType = UNSET


class UnchangedFile(Camel):
    """A file that the model has seen already."""

    file_path: str


class ReadUnchangedResult(ReadResultBase, tag="file_unchanged"):
    """A file that has not changed since it was last read."""

    file: UnchangedFile
    source: str | UnsetType = UNSET


ReadResult = Open[
    ReadTextResult
    | ReadImageResult
    | ReadNotebookResult
    | ReadPdfResult
    | ReadPartsResult
    | ReadUnchangedResult,
    UnknownBlock,
]
