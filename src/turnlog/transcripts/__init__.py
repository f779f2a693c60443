"""From files to a conversation that a person can follow: no database, no network."""

from turnlog.transcripts.authors import Author, author_of
from turnlog.transcripts.categories import (
    Category,
    MessageType,
    Role,
    find_category,
    is_known_tool,
    list_message_types,
    role_of,
    tool_category,
)
from turnlog.transcripts.extraction import extract, map_parents
from turnlog.transcripts.folders import Obstacle, ObstacleKind
from turnlog.transcripts.locate import Located, list_config_dirs, locate_path, locate_sessions
from turnlog.transcripts.projects import is_named_after, project_folder_name, project_name
from turnlog.transcripts.reader import Change, Checkpoint, LineReader, Reading, read_lines, read_new
from turnlog.transcripts.records import LineSplitter, Tail
from turnlog.transcripts.session_files import AgentFiles, SessionFiles, WorkflowFiles, find_offloaded
from turnlog.transcripts.sightings import Attribution, Sighting, Terms, Tokens, find_sighting
from turnlog.transcripts.task_notices import TaskNotice, find_notice
from turnlog.transcripts.tool_calls import Call, Pairing
from turnlog.transcripts.tool_results import CallState, Place, Result
from turnlog.transcripts.tools import CallBuilder, Calls, build_calls
from turnlog.transcripts.usage import (
    MessageUsage,
    SessionUsage,
    Totals,
    UsageFold,
    build_total,
    find_reported_cost,
    group_by_attribution,
    group_by_day,
    group_by_model,
    group_by_session,
)

__all__ = [
    "AgentFiles",
    "Attribution",
    "Author",
    "Call",
    "CallBuilder",
    "CallState",
    "Calls",
    "Category",
    "Change",
    "Checkpoint",
    "LineReader",
    "LineSplitter",
    "Located",
    "MessageType",
    "MessageUsage",
    "Obstacle",
    "ObstacleKind",
    "Pairing",
    "Place",
    "Reading",
    "Result",
    "Role",
    "SessionFiles",
    "SessionUsage",
    "Sighting",
    "Tail",
    "TaskNotice",
    "Terms",
    "Tokens",
    "Totals",
    "UsageFold",
    "WorkflowFiles",
    "author_of",
    "build_calls",
    "build_total",
    "extract",
    "find_category",
    "find_notice",
    "find_offloaded",
    "find_reported_cost",
    "find_sighting",
    "group_by_attribution",
    "group_by_day",
    "group_by_model",
    "group_by_session",
    "is_known_tool",
    "is_named_after",
    "list_config_dirs",
    "list_message_types",
    "locate_path",
    "locate_sessions",
    "map_parents",
    "project_folder_name",
    "project_name",
    "read_lines",
    "read_new",
    "role_of",
    "tool_category",
]
