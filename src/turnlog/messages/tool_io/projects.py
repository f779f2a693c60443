"""The Projects tool: the documents and memories of a project on claude.ai."""

from __future__ import annotations

from typing import ClassVar

from turnlog.messages.base import UNSET, Number, Open, Raw, Snake, UnknownBlock, UnsetType


class ProjectsInput(Snake):
    """Something to do with the project's documents."""

    method: str
    """`project_info`, `project_read`, `project_search`, `project_write`, `project_delete`,
    `project_memory_list` or `project_memory_read`."""
    path: str | UnsetType = UNSET
    content: str | UnsetType = UNSET
    local_path: str | UnsetType = UNSET
    present_to_user: bool | UnsetType = UNSET
    query: str | UnsetType = UNSET
    n: int | UnsetType = UNSET


class ProjectsResultBase(Snake, tag_field="method"):
    """What every result has: the method, and perhaps a notice."""

    method: ClassVar[str]
    notice: str | UnsetType = UNSET


class ProjectDoc(Snake):
    """A document of the project."""

    path: str
    created_at: str | None | UnsetType = UNSET


class ProjectFile(Snake):
    """A file of the project."""

    path: str
    file_kind: str | UnsetType = UNSET
    created_at: str | None | UnsetType = UNSET


class SyncSource(Snake):
    """A service that the project takes documents from."""

    type: str | None | UnsetType = UNSET
    config: dict[str, Raw] | UnsetType = UNSET


class SizeOfKnowledge(Snake):
    """How much of its room the project takes."""

    knowledge_size: Number | UnsetType = UNSET
    max_knowledge_size: Number | UnsetType = UNSET


class ProjectInfoResult(ProjectsResultBase, tag="project_info"):
    """What the project is and holds."""

    name: str
    description: str | UnsetType = UNSET
    instructions: str | UnsetType = UNSET
    docs: tuple[ProjectDoc, ...] | UnsetType = UNSET
    files: tuple[ProjectFile, ...] | UnsetType = UNSET
    sync_sources: tuple[SyncSource, ...] | UnsetType = UNSET
    knowledge: SizeOfKnowledge | UnsetType = UNSET
    local_file: str | UnsetType = UNSET


class ProjectReadResult(ProjectsResultBase, tag="project_read"):
    """A document that was read."""

    path: str
    file_kind: str | UnsetType = UNSET
    content: str | UnsetType = UNSET
    local_file: str | UnsetType = UNSET
    created_at: str | None | UnsetType = UNSET


class ProjectHit(Snake):
    """A passage that a search found."""

    name: str | UnsetType = UNSET
    doc_uuid: str | UnsetType = UNSET
    text: str | UnsetType = UNSET
    image_attached: bool | UnsetType = UNSET
    page: int | UnsetType = UNSET


class ProjectSearchResult(ProjectsResultBase, tag="project_search"):
    """What a search found: passages, or for a small project its documents' names."""

    rag: bool | UnsetType = UNSET
    hits: tuple[ProjectHit, ...] | UnsetType = UNSET
    docs: tuple[str, ...] | UnsetType = UNSET


class ProjectWriteResult(ProjectsResultBase, tag="project_write"):
    """A document that was written."""

    path: str
    doc_uuid: str | UnsetType = UNSET
    replaced: bool | UnsetType = UNSET
    present_to_user: bool | UnsetType = UNSET
    local_path: str | UnsetType = UNSET


class ProjectDeleteResult(ProjectsResultBase, tag="project_delete"):
    """A document that was deleted."""

    path: str
    deleted: bool | UnsetType = UNSET


class MemoryFile(Snake):
    """A memory as a list shows it."""

    path: str
    size_bytes: int | UnsetType = UNSET
    updated_at: str | None | UnsetType = UNSET
    truncated: bool | UnsetType = UNSET


class ProjectMemoryListResult(ProjectsResultBase, tag="project_memory_list"):
    """The project's memories."""

    files: tuple[MemoryFile, ...]
    truncated: bool | UnsetType = UNSET


class ProjectMemoryReadResult(ProjectsResultBase, tag="project_memory_read"):
    """A memory that was read."""

    path: str
    content: str | UnsetType = UNSET
    local_file: str | UnsetType = UNSET
    size_bytes: int | UnsetType = UNSET
    updated_at: str | None | UnsetType = UNSET
    truncated: bool | UnsetType = UNSET


ProjectsResult = Open[
    ProjectInfoResult
    | ProjectReadResult
    | ProjectSearchResult
    | ProjectWriteResult
    | ProjectDeleteResult
    | ProjectMemoryListResult
    | ProjectMemoryReadResult,
    UnknownBlock,
]
