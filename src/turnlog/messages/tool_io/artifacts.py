"""The Artifact tool: pages that an agent publishes, watches and attaches files to.

The result has no common tag: which action was asked for shows in the one key that only its result has. Files
that are attached to a page are its assets.
"""

from __future__ import annotations

from turnlog.messages.base import UNSET, Camel, Number, OpenEnum, Raw, Snake, UnsetType, field
from turnlog.messages.tool_io.files import ArtifactRead


class ArtifactInput(Snake):
    """Something to do with a published page; without an action, to publish one."""

    action: str | UnsetType = UNSET
    """`publish`, `list`, `read`, `list_types`, `watch`, `unwatch`, `status`, `upload_asset`, `list_assets`,
    `read_asset`, `delete_asset`, `pin` or `unpin`."""
    file_path: str | UnsetType = UNSET
    favicon: str | UnsetType = UNSET
    icon: str | UnsetType = UNSET
    limit: int | UnsetType = UNSET
    page_token: str | UnsetType = UNSET
    scope: str | UnsetType = UNSET
    """`mine`, `shared` or `all`."""
    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    label: str | UnsetType = UNSET
    url: str | UnsetType = UNSET
    prompt: str | UnsetType = UNSET
    force: bool | UnsetType = UNSET
    pin: bool | UnsetType = UNSET
    out_dir: str | UnsetType = UNSET
    file_paths: tuple[str, ...] | UnsetType = UNSET
    asset_id: str | UnsetType = UNSET
    after: str | UnsetType = UNSET
    capabilities: dict[str, Raw] | UnsetType = UNSET
    contract: str | UnsetType = UNSET


class ArtifactStored(Camel):
    """What the service keeps of a page's contract."""

    contract: str
    preferred_contract: str | UnsetType = UNSET
    capabilities: dict[str, Raw] | UnsetType = UNSET
    carried: bool | UnsetType = UNSET
    read: str | UnsetType = UNSET


class ArtifactPublishResult(Camel):
    """A page that was published."""

    url: str
    path: str
    artifact_id: str | UnsetType = field(name="artifact_id", default=UNSET)
    title: str | UnsetType = UNSET
    version: str | UnsetType = UNSET
    capabilities: Raw | UnsetType = UNSET
    stored: ArtifactStored | UnsetType = UNSET
    warnings: tuple[str, ...] | UnsetType = UNSET
    publishes_remaining: int | UnsetType = UNSET
    publishes_reset_at: Number | UnsetType = UNSET
    contract: str | UnsetType = UNSET
    updated: bool | UnsetType = UNSET
    owned: bool | UnsetType = UNSET
    icon: str | UnsetType = UNSET
    favicon_sent: bool | UnsetType = UNSET
    icon_dropped: bool | UnsetType = UNSET
    audience: str | UnsetType = UNSET
    seq: int | UnsetType = UNSET
    unchanged: bool | UnsetType = UNSET
    live_subscription: str | UnsetType = UNSET
    pinned: bool | UnsetType = UNSET


class ArtifactSummary(Camel):
    """A page as a list shows it."""

    title: str | UnsetType = UNSET
    url: str
    favicon: str | UnsetType = UNSET
    updated_at: str | UnsetType = UNSET
    rel: str | UnsetType = UNSET
    """`mine` or `shared`."""
    external: bool | UnsetType = UNSET
    role: str | UnsetType = UNSET
    """`editor`, `commenter`, `reader` or `viewer`."""
    outsiders_may_have_written: bool | UnsetType = UNSET
    pinned: bool | UnsetType = UNSET


class ArtifactListResult(Snake):
    """The pages that there are."""

    artifacts: tuple[ArtifactSummary, ...]
    truncated: bool | UnsetType = UNSET
    total: int | UnsetType = UNSET
    total_at_least: bool | UnsetType = UNSET
    next_page_token: str | UnsetType = UNSET
    pins_enabled: bool | UnsetType = UNSET
    scope: str | UnsetType = UNSET
    external_listed: bool | UnsetType = UNSET


class ArtifactPage(Camel):
    """A page that was fetched."""

    url: str
    bytes: int | UnsetType = UNSET
    code: int | UnsetType = UNSET
    code_text: str | UnsetType = UNSET
    result: str | UnsetType = UNSET
    duration_ms: Number | UnsetType = UNSET
    title: str | UnsetType = UNSET


class ArtifactReadResult(Camel):
    """A page that was read."""

    read: ArtifactPage
    owned: bool | UnsetType = UNSET
    artifact_read: ArtifactRead | UnsetType = UNSET


class ArtifactWatchState(Snake):
    """How a request to watch a page went."""

    url: str
    watching: bool | UnsetType = UNSET
    outcome: str | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    durable_skip_reason: str | UnsetType = UNSET
    task_id: str | UnsetType = UNSET
    since: Number | UnsetType = UNSET
    token_expires_at: Number | UnsetType = UNSET
    rail: str | UnsetType = UNSET
    trigger_id: str | UnsetType = UNSET
    durable_since: str | UnsetType = UNSET
    status: int | UnsetType = UNSET
    detail: str | UnsetType = UNSET
    note: str | UnsetType = UNSET
    events: tuple[str, ...] | UnsetType = UNSET


class ArtifactWatchResult(Snake):
    """A page that is being watched, or why it is not."""

    watch: ArtifactWatchState


class ArtifactUnwatch(Snake):
    """A page that is no longer watched."""

    url: str
    was_watching: bool | UnsetType = UNSET


class ArtifactUnwatchResult(Snake):
    """The end of a watch."""

    unwatch: ArtifactUnwatch


class ArtifactWatchRail(OpenEnum):
    """By which way a watch is kept; a live one names none."""

    DURABLE_WAKE = "durable_wake"
    LIVE_STOPPED = "live_stopped"


class ArtifactWatch(Snake):
    """A watch that is live, durable or stopped, by its rail."""

    url: str
    rail: ArtifactWatchRail | UnsetType = UNSET
    since: Number | str | UnsetType = UNSET
    """A number for a live watch, a date for a durable one."""
    task_id: str | UnsetType = UNSET
    explicit: bool | UnsetType = UNSET
    connected: bool | UnsetType = UNSET
    connecting: bool | UnsetType = UNSET
    token_expires_at: Number | UnsetType = UNSET
    armed_via: str | UnsetType = UNSET
    trigger_id: str | UnsetType = UNSET
    events: tuple[str, ...] | UnsetType = UNSET
    restored: bool | UnsetType = UNSET
    stop_kind: str | UnsetType = UNSET


class ArtifactArm(Snake):
    """An attempt to start a watch."""

    url: str
    rail: str | UnsetType = UNSET
    state: str | UnsetType = UNSET
    reconnect: bool | UnsetType = UNSET
    failures: int | UnsetType = UNSET
    max_failures: int | UnsetType = UNSET
    next_in_s: Number | UnsetType = UNSET
    last_failure: str | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    detail: str | UnsetType = UNSET
    server_message: str | UnsetType = UNSET
    at: Number | UnsetType = UNSET


class ArtifactWatchesResult(Snake):
    """All watches."""

    watches: tuple[ArtifactWatch, ...]
    filter_url: str | UnsetType = UNSET
    arms: tuple[ArtifactArm, ...] | UnsetType = UNSET


class ArtifactPin(Snake):
    """A page that was pinned or unpinned."""

    action: str | UnsetType = UNSET
    url: str
    pinned: bool | UnsetType = UNSET
    title: str | UnsetType = UNSET


class ArtifactPinResult(Snake):
    """A change of a pin."""

    pin: ArtifactPin


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
