"""From files to a conversation that a person can follow: no database, no network.

The names are loaded when they are first used: whoever needs to know where sessions are, or what their tokens
cost, should not wait for all the types of lines.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from turnlog.transcripts.actions import report_of
    from turnlog.transcripts.agent_builder import Agents, build_agents
    from turnlog.transcripts.agents import (
        Agent,
        AgentLink,
        AgentSource,
        LineProblem,
        Sources,
        Workflow,
        WorkflowSource,
    )
    from turnlog.transcripts.call_builder import CallBuilder, Calls, build_calls
    from turnlog.transcripts.calls import (
        Call,
        Pairing,
        Place,
        Result,
        TaskNotice,
        TouchedFile,
        extract,
        find_notice,
        list_touched_files,
        map_parents,
    )
    from turnlog.transcripts.conversation.conversation import Conversation
    from turnlog.transcripts.conversation.lineage import Lineage, ParentMismatch, Reason, build_lineage
    from turnlog.transcripts.conversation.messages import (
        Compaction,
        CompactionState,
        Lane,
        LineDisplay,
        Message,
        Placement,
        Rule,
        build_compactions,
    )
    from turnlog.transcripts.conversation.timeline import Timeline, build_timeline
    from turnlog.transcripts.conversation.tree import (
        Branch,
        Panel,
        SidechainGroup,
        Tree,
        build_panel,
        build_tree,
    )
    from turnlog.transcripts.conversation.turns import Turn, build_turns
    from turnlog.transcripts.dumps import list_dumped
    from turnlog.transcripts.kinds import AgentState, CallState, Category, MessageType, Role
    from turnlog.transcripts.line_reader import LineReader, LineSplitter, Reading, Tail, read_lines, read_new
    from turnlog.transcripts.lines.content import (
        Author,
        author_of,
        find_category,
        is_known_tool,
        list_message_types,
        role_of,
        tool_category,
    )
    from turnlog.transcripts.lines.prompts import Prompt, PromptKind, read_prompt
    from turnlog.transcripts.migration import Migration, migrate, plan_migration
    from turnlog.transcripts.session import Session, read
    from turnlog.transcripts.session_files import (
        AgentFiles,
        Change,
        Checkpoint,
        Located,
        Obstacle,
        ObstacleKind,
        SessionFiles,
        WorkflowFiles,
        find_offloaded,
        is_named_after,
        list_config_dirs,
        locate_path,
        locate_sessions,
        project_folder_name,
        project_name,
    )
    from turnlog.transcripts.summary import Counts, Summary, SummaryFold, build_summary
    from turnlog.transcripts.titles import Title, TitleFold, TitleSource
    from turnlog.transcripts.usage.prices import Bill, Price, Prices, PriceTable, Rates, find_table
    from turnlog.transcripts.usage.sightings import (
        ModelTotals,
        SessionUsage,
        UsageFold,
        find_reported_cost,
        find_sighting,
        group_by_attribution,
        group_by_day,
        group_by_model,
        group_by_session,
    )
    from turnlog.transcripts.usage.tokens import (
        Attribution,
        MessageUsage,
        PricingTerms,
        Sighting,
        Tokens,
        Totals,
        build_total,
    )
    from turnlog.transcripts.validation.rules import Finding, Severity
    from turnlog.transcripts.validation.validator import Validator, validate

__all__ = [
    "Agent", "AgentFiles", "AgentLink", "AgentSource", "AgentState", "Agents", "Attribution", "Author", "Bill",
    "Branch", "Call", "CallBuilder", "CallState", "Calls", "Category", "Change", "Checkpoint", "Compaction",
    "CompactionState", "Conversation", "Counts", "Finding", "Lane", "LineDisplay", "LineProblem", "LineReader",
    "LineSplitter", "Lineage", "Located", "Message", "MessageType", "MessageUsage", "Migration", "ModelTotals",
    "Obstacle", "ObstacleKind", "Pairing", "Panel", "ParentMismatch", "Place", "Placement", "Price",
    "PriceTable", "Prices", "PricingTerms", "Prompt", "PromptKind", "Rates", "Reading", "Reason", "Result",
    "Role", "Rule", "Session", "SessionFiles", "SessionUsage", "Severity", "SidechainGroup", "Sighting",
    "Sources", "Summary", "SummaryFold", "Tail", "TaskNotice", "Timeline", "Title", "TitleFold", "TitleSource",
    "Tokens", "Totals", "TouchedFile", "Tree", "Turn", "UsageFold", "Validator", "Workflow", "WorkflowFiles",
    "WorkflowSource", "author_of", "build_agents", "build_calls", "build_compactions", "build_lineage",
    "build_panel", "build_summary", "build_timeline", "build_total", "build_tree", "build_turns", "extract",
    "find_category", "find_notice", "find_offloaded", "find_reported_cost", "find_sighting", "find_table",
    "group_by_attribution", "group_by_day", "group_by_model", "group_by_session", "is_known_tool",
    "is_named_after", "list_config_dirs", "list_dumped", "list_message_types", "list_touched_files",
    "locate_path", "locate_sessions", "map_parents", "migrate", "plan_migration", "project_folder_name",
    "project_name", "read", "read_lines", "read_new", "read_prompt", "report_of", "role_of", "tool_category",
    "validate",
]  # fmt: skip

_HOMES = {
    "actions": "report_of",
    "agent_builder": "Agents build_agents",
    "agents": "Agent AgentLink AgentSource LineProblem Sources Workflow WorkflowSource",
    "call_builder": "CallBuilder Calls build_calls",
    "calls": (
        "Call Pairing Place Result TaskNotice TouchedFile extract find_notice list_touched_files map_parents"
    ),
    "conversation.conversation": "Conversation",
    "conversation.lineage": "Lineage ParentMismatch Reason build_lineage",
    "conversation.messages": (
        "Compaction CompactionState Lane LineDisplay Message Placement Rule build_compactions"
    ),
    "conversation.timeline": "Timeline build_timeline",
    "conversation.tree": "Branch Panel SidechainGroup Tree build_panel build_tree",
    "conversation.turns": "Turn build_turns",
    "dumps": "list_dumped",
    "kinds": "AgentState CallState Category MessageType Role",
    "line_reader": "LineReader LineSplitter Reading Tail read_lines read_new",
    "lines.content": "Author author_of find_category is_known_tool list_message_types role_of tool_category",
    "lines.prompts": "Prompt PromptKind read_prompt",
    "migration": "Migration migrate plan_migration",
    "session": "Session read",
    "session_files": (
        "AgentFiles Change Checkpoint Located Obstacle ObstacleKind SessionFiles WorkflowFiles "
        "find_offloaded is_named_after list_config_dirs locate_path locate_sessions project_folder_name "
        "project_name"
    ),
    "summary": "Counts Summary SummaryFold build_summary",
    "titles": "Title TitleFold TitleSource",
    "usage.prices": "Bill Price PriceTable Prices Rates find_table",
    "usage.sightings": (
        "ModelTotals SessionUsage UsageFold find_reported_cost find_sighting group_by_attribution "
        "group_by_day group_by_model group_by_session"
    ),
    "usage.tokens": "Attribution MessageUsage PricingTerms Sighting Tokens Totals build_total",
    "validation.rules": "Finding Severity",
    "validation.validator": "Validator validate",
}
"""The names, by the module that each lives in."""

if not TYPE_CHECKING:  # else any name at all would seem to be there
    _home_of = {name: home for home, names in _HOMES.items() for name in names.split()}

    def __getattr__(name: str) -> object:
        if name not in _home_of:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = getattr(import_module(f"{__name__}.{_home_of[name]}"), name)
        return globals().setdefault(name, found)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
