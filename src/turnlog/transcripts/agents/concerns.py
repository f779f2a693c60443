"""Whether what is new of a conversation has to do with agents: only then they have to be put together anew."""

from __future__ import annotations

from collections.abc import Iterable

from turnlog.messages import Line
from turnlog.messages.entries import ProgressEntry
from turnlog.messages.progress import AgentProgress
from turnlog.transcripts.agents.assembly import Agents
from turnlog.transcripts.agents.call_index import TELLING_TOOLS
from turnlog.transcripts.calls.call import Call
from turnlog.transcripts.lines.kinds import Category


def concerns_agents(lines: Iterable[Line], calls: Iterable[Call], agents: Agents) -> bool:
    """Tell whether agents may be others than they were, now that these lines and calls came.

    Calls that have changed are among them. In doubt they may.
    """
    if any(map(_is_telling, lines)) or any(agent.inline for agent in agents.agents):
        return True
    if not agents.agents and not agents.workflows:
        return False  # no files of any, and no lines either
    # What tells of an agent may name any call, and one that has not come yet.
    searching = any(agent.call is None for agent in agents.agents)
    started = {agent.call.id for agent in agents.agents if agent.call is not None}
    return any(searching or _tells(call) or call.id in started for call in calls)


def _is_telling(line: Line) -> bool:
    entry = line.entry
    flag = getattr(entry, "is_sidechain", line)
    if flag is True or (flag is line and isinstance(getattr(entry, "parent_tool_use_id", None), str)):
        return True
    return type(entry) is ProgressEntry and isinstance(entry.data, AgentProgress)


def _tells(call: Call) -> bool:
    results = () if call.result is None else (call.result, *call.other_results)
    return (
        call.category is Category.AGENT
        or call.name in TELLING_TOOLS
        or call.notice is not None
        or any(result.agent_id is not None for result in results)
    )
