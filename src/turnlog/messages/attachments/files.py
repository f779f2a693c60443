"""Files that were attached, changed, cut short or only named."""

from __future__ import annotations

from turnlog.messages.attachments.base import AttachmentBase
from turnlog.messages.base import UNSET, Camel, UnsetType, field
from turnlog.messages.tool_io.reading import ReadResult


class _NamedFile(AttachmentBase):
    """A file by its full path, and by the path that is shown."""

    filename: str | UnsetType = UNSET
    display_path: str | None | UnsetType = UNSET


class EditedTextFile(_NamedFile, tag="edited_text_file"):
    """A file that somebody changed after the model had read it."""

    snippet: str | None | UnsetType = UNSET


class ReadNotes(Camel):
    """What was remarked when a file was read."""

    memory_note: str | None | UnsetType = UNSET


class SavedCopyFraming(Camel):
    """How a copy of a file was kept."""

    enveloped: bool | UnsetType = UNSET


class _ReadFile(_NamedFile):
    """A file and what was read from it: what the Read tool would answer."""

    content: str | ReadResult | None | UnsetType = UNSET
    read_notes: ReadNotes | None | UnsetType = UNSET


class FileAttachment(_ReadFile, tag="file"):
    """A file that the prompt named, with its content."""

    saved_copy_framing: SavedCopyFraming | None | UnsetType = UNSET


class AlreadyReadFile(_ReadFile, tag="already_read_file"):
    """A file that the prompt named and the model knows already."""


class DirectoryAttachment(AttachmentBase, tag="directory"):
    """A directory that the prompt named, with its listing."""

    path: str | UnsetType = UNSET
    content: str | None | UnsetType = UNSET
    display_path: str | None | UnsetType = UNSET


class CompactFileReference(_NamedFile, tag="compact_file_reference"):
    """A file that was read before a compaction and is only named after it."""


class PlanFileReference(AttachmentBase, tag="plan_file_reference"):
    """The plan, told again after a compaction."""

    plan_file_path: str | UnsetType = UNSET
    plan_content: str | None | UnsetType = UNSET


class ReadTruncationNotice(AttachmentBase, tag="read_truncation_notice"):
    """A note that a file was read only in part."""

    banner: str | UnsetType = UNSET
    tool_use_id: str | None | UnsetType = field(name="toolUseID", default=UNSET)


class BashOutputAudienceNote(AttachmentBase, tag="bash_output_audience_note"):
    """A mark that a command's output got a note on who can see it."""

    tool_use_id: str | None | UnsetType = field(name="toolUseID", default=UNSET)


class InlinedImagePaths(AttachmentBase, tag="inlined_image_paths"):
    """The paths of the pictures that stand in the prompt."""

    paths: tuple[str, ...] | UnsetType = UNSET
