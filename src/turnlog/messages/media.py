"""Images, documents and search results, and where their bytes come from."""

from __future__ import annotations

from typing import ClassVar

from turnlog.messages.base import UNSET, Open, Snake, UnknownBlock, UnsetType
from turnlog.messages.citations import Citation

__all__ = [
    "Base64Source",
    "BlockBase",
    "CacheControl",
    "CitationsConfig",
    "ContentSource",
    "DocumentBlock",
    "FileSource",
    "ImageBlock",
    "SearchResultBlock",
    "Source",
    "SourceBase",
    "TextBlock",
    "TextSource",
    "UrlSource",
]


class CacheControl(Snake):
    """A mark up to which the prompt is cached."""

    type: str | UnsetType = UNSET
    ttl: str | UnsetType = UNSET
    scope: str | UnsetType = UNSET


class CitationsConfig(Snake):
    """Whether a document may be cited."""

    enabled: bool | UnsetType = UNSET


class BlockBase(Snake, tag_field="type"):
    """What every block has: a type, and perhaps a cache mark."""

    type: ClassVar[str]
    cache_control: CacheControl | None | UnsetType = UNSET


class TextBlock(BlockBase, tag="text"):
    """Plain text."""

    text: str
    citations: tuple[Citation, ...] | None | UnsetType = UNSET


class SourceBase(Snake, tag_field="type"):
    """Where an image's or a document's content is."""

    type: ClassVar[str]


class Base64Source(SourceBase, tag="base64"):
    """The bytes themselves, in base64."""

    media_type: str | UnsetType = UNSET
    data: str


class TextSource(SourceBase, tag="text"):
    """A plain-text document."""

    media_type: str | UnsetType = UNSET
    data: str


class UrlSource(SourceBase, tag="url"):
    """An address that the API fetches."""

    url: str


class FileSource(SourceBase, tag="file"):
    """A file that was uploaded before."""

    file_id: str


class ContentSource(SourceBase, tag="content"):
    """A document made of blocks."""

    content: str | tuple[MediaBlock, ...]


Source = Open[Base64Source | TextSource | UrlSource | FileSource | ContentSource, UnknownBlock]


class ImageBlock(BlockBase, tag="image"):
    """A picture."""

    source: Source


class DocumentBlock(BlockBase, tag="document"):
    """A PDF or text document."""

    source: Source
    title: str | None | UnsetType = UNSET
    context: str | None | UnsetType = UNSET
    citations: CitationsConfig | None | UnsetType = UNSET


class SearchResultBlock(BlockBase, tag="search_result"):
    """One result of a search that a tool made, for citing."""

    source: str | UnsetType = UNSET
    title: str | UnsetType = UNSET
    content: tuple[TextBlock, ...] | UnsetType = UNSET
    citations: CitationsConfig | None | UnsetType = UNSET


MediaBlock = Open[TextBlock | ImageBlock | DocumentBlock | SearchResultBlock, UnknownBlock]
