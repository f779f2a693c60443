"""Results of the Artifact tool that concern the files attached to a page."""

from __future__ import annotations

from turnlog.messages.base import UNSET, OpenEnum, Snake, UnsetType


class WrittenPage(Snake):
    """The page that a change belongs to."""

    url: str


class AssetWriting(Snake):
    """What every change of a page's files says."""

    written: WrittenPage | UnsetType = UNSET
    owned: bool | UnsetType = UNSET


class AssetUpload(Snake):
    """A file that was uploaded."""

    id: str
    url: str | UnsetType = UNSET
    size_bytes: int | UnsetType = UNSET
    content_type: str | UnsetType = UNSET
    sha256: str | UnsetType = UNSET
    file_name: str | UnsetType = UNSET


class AssetUploadResult(AssetWriting):
    """One file that was attached."""

    asset_upload: AssetUpload


class AssetUploadStatus(OpenEnum):
    """How far one of several files came."""

    UPLOADED = "uploaded"
    FAILED = "failed"
    NOT_ATTEMPTED = "not_attempted"


class AssetUploadOutcome(Snake):
    """One of several files: what it became, or why nothing."""

    file_path: str
    status: AssetUploadStatus
    id: str | UnsetType = UNSET
    url: str | UnsetType = UNSET
    size_bytes: int | UnsetType = UNSET
    content_type: str | UnsetType = UNSET
    sha256: str | UnsetType = UNSET
    file_name: str | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    message: str | UnsetType = UNSET
    may_be_stored: bool | UnsetType = UNSET


class AssetUploads(Snake):
    """Several files for one page."""

    url: str
    results: tuple[AssetUploadOutcome, ...]


class AssetUploadsResult(AssetWriting):
    """Several files that were attached."""

    asset_uploads: AssetUploads


class Asset(Snake):
    """A file attached to a page."""

    id: str
    url: str | UnsetType = UNSET
    content_type: str | UnsetType = UNSET
    size_bytes: int | UnsetType = UNSET
    sha256: str | UnsetType = UNSET
    created_at: str | UnsetType = UNSET


class AssetQuota(Snake):
    """How much of a page's room its files take."""

    files: int | UnsetType = UNSET
    bytes: int | UnsetType = UNSET
    max_files: int | UnsetType = UNSET
    max_bytes: int | UnsetType = UNSET


class AssetList(Snake):
    """A page's files."""

    url: str
    assets: tuple[Asset, ...]
    usage: AssetQuota | UnsetType = UNSET
    next: str | UnsetType = UNSET
    cowritten: bool | UnsetType = UNSET
    outside_writer: bool | UnsetType = UNSET


class AssetListResult(Snake):
    """A list of a page's files."""

    asset_list: AssetList


class AssetRead(Snake):
    """A file that was downloaded."""

    id: str
    path: str | UnsetType = UNSET
    size_bytes: int | UnsetType = UNSET
    content_type: str | UnsetType = UNSET
    sha256: str | UnsetType = UNSET
    cowritten: bool | UnsetType = UNSET
    outside_writer: bool | UnsetType = UNSET
    public_read: bool | UnsetType = UNSET
    foreign: bool | UnsetType = UNSET


class AssetReadResult(Snake):
    """A page's file, saved to disk."""

    asset_read: AssetRead


class AssetDeletion(Snake):
    """A file that was removed."""

    id: str
    deleted: bool | UnsetType = UNSET


class AssetDeleteResult(AssetWriting):
    """The removal of a page's file."""

    asset_delete: AssetDeletion
