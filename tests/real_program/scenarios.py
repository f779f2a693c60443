"""What the real program is made to do: prompts and signals for it, and what the stand-in for the model says.

Everything here is ours. Cues are our own prompts and the ids of our own calls, so no text of the program is
needed to tell its requests apart. Where order matters, a command waits for a file instead of some time.
"""

from __future__ import annotations

import base64
import signal
from collections.abc import Mapping

from real_program.script import Interrupt, Run, Say, Scenario, SetModel, Stop, Touch
from real_program.stand_in_api import Reply, call, text, thinking

_MODEL = "claude-opus-5-5"
_DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
_WAIT = "until [ -e {0} ]; do sleep 0.02; done"
_HANG = "touch {0}; sleep 20"

MODELS = (
    "claude-fable-5",
    "claude-fable-5-1",
    "claude-haiku-4-5",
    "claude-haiku-5-5",
    "claude-opus-4-5",
    "claude-opus-4-6",
    "claude-opus-4-8",
    "claude-opus-5",
    "claude-opus-5-5",
    "claude-sonnet-4-0",
    "claude-sonnet-4-5",
    "claude-sonnet-4-6",
    "claude-sonnet-5",
    "claude-sonnet-5-5",
)
"""Models that the program and the price list know alike."""
UNHEARD_OF = "claude-unheard-of-9"


_TOOLS = Scenario(
    name="tools",
    files={"a.txt": b"alpha\n", "b.txt": b"beta\n", "dot.png": _DOT},
    runs=(
        Run(
            (
                Say("Read both files."),
                Say("Run what fails."),
                Say("Write without leave."),
                Say("Call what is wrong."),
                Say("Print very much."),
                Say("Change a file."),
                Say("Look at the picture."),
                Say("Leave a command running."),
                Touch("command-may-end"),
            ),
            options=("--include-partial-messages", "--include-hook-events"),
        ),
    ),
    replies=(
        Reply(
            "Read both files.",
            (
                thinking("Both at once."),
                text("I read both."),
                call("toolu_read", "Read", file_path="a.txt"),
                call("toolu_shell", "Bash", command="cat b.txt", description="Show b"),
            ),
        ),
        Reply("toolu_shell", (text("Alpha and beta."),)),
        Reply("Run what fails.", (call("toolu_fails", "Bash", command="echo oh no >&2; exit 3"),)),
        Reply("toolu_fails", (text("It failed."),)),
        Reply("Write without leave.", (call("toolu_denied", "Write", file_path="c.txt", content="gamma\n"),)),
        Reply("toolu_denied", (text("I may not."),)),
        Reply(
            "Call what is wrong.",
            (call("toolu_unheard_of", "Unheard", a=1), call("toolu_misused", "Read", nothing="known")),
        ),
        Reply("toolu_misused", (text("Both were wrong."),)),
        Reply("Print very much.", (call("toolu_much", "Bash", command="seq 1 30000"),)),
        Reply("toolu_much", (text("That was much."),)),
        Reply(
            "Change a file.",
            (call("toolu_edit", "Edit", file_path="a.txt", old_string="alpha", new_string="omega"),),
        ),
        Reply("toolu_edit", (text("Omega."),)),
        Reply("Look at the picture.", (call("toolu_picture", "Read", file_path="dot.png"),)),
        Reply("toolu_picture", (text("A dot."),)),
        Reply(
            "Leave a command running.",
            (
                call(
                    "toolu_behind",
                    "Bash",
                    command=f"{_WAIT.format('command-may-end')}; echo behind the scenes",
                    description="Wait behind the scenes",
                    run_in_background=True,
                ),
            ),
        ),
        Reply("toolu_behind", (text("It goes on."),)),
    ),
)


def _agent(identity: str, prompt: str, **arguments: object) -> dict[str, object]:
    given = {"run_in_background": False, "subagent_type": "general-purpose", **arguments}
    return dict(call(identity, "Agent", description=prompt.strip("."), prompt=prompt, **given))


_AGENTS = Scenario(
    name="agents",
    runs=(
        Run(
            (
                Say("Send two agents."),
                Say("Send one that sends another."),
                Say("Send one to the background."),
                Touch("agent-may-end"),
            )
        ),
    ),
    replies=(
        Reply(
            "Send two agents.",
            (
                text("Two at once."),
                _agent("toolu_first", "Echo one."),
                _agent("toolu_second", "Echo two.", model="haiku"),
            ),
        ),
        Reply("Echo one.", (call("toolu_one", "Bash", command="echo one"),)),
        Reply("toolu_one", (text("One was echoed."),)),
        Reply("Echo two.", (call("toolu_two", "Bash", command="echo two"),)),
        Reply("toolu_two", (text("Two was echoed."),)),
        Reply("toolu_second", (text("Both are back."),)),
        Reply("Send one that sends another.", (_agent("toolu_outer", "Send the inner one."),)),
        Reply("Send the inner one.", (_agent("toolu_inner", "Be the inner one."),)),
        Reply("Be the inner one.", (text("I am within."),)),
        Reply("toolu_inner", (text("The inner one is back."),)),
        Reply("toolu_outer", (text("Both levels are back."),)),
        Reply(
            "Send one to the background.", (_agent("toolu_away", "Wait for the file.", run_in_background=True),)
        ),
        Reply("Wait for the file.", (call("toolu_wait", "Bash", command=_WAIT.format("agent-may-end")),)),
        Reply("toolu_wait", (text("The file is there."),)),
        Reply("toolu_away", (text("It is away."),)),
        Reply("The file is there.", (text("The one from the background is back."),)),
    ),
)

_FULL = {"cache_read_input_tokens": 170_000}
_COMPACTION = Scenario(
    name="compaction",
    files={"a.txt": b"alpha\n"},
    runs=(
        Run(
            (
                Say("Read the file."),
                Say("Say something."),
                Say("/compact and keep the word alpha"),
                Say("Go on."),
                Say("Fill the window."),
                Say("Go on again."),
            ),
            options=("--autocompact", "100k"),
        ),
    ),
    replies=(
        Reply("Read the file.", (call("toolu_file", "Read", file_path="a.txt"),)),
        Reply("toolu_file", (text("It says alpha."),)),
        Reply("Say something.", (text("Something."),)),
        Reply("and keep the word alpha", (text("<summary>The first half was about alpha.</summary>"),)),
        Reply("Go on.", (text("I go on."),)),
        Reply("Fill the window.", (text("It is full."),), usage=_FULL),
        # The program compacts by itself, and leaves the last answer out of what it asks about.
        Reply("Fill the window.", (text("<summary>The second half was about nothing.</summary>"),)),
        Reply("Go on again.", (text("I go on again."),)),
    ),
)

_INTERRUPTION = Scenario(
    name="interruption",
    runs=(
        Run(
            (
                Say("Begin."),
                Interrupt("Hang in a tool.", sign="toolu_hangs", file="hanging"),
                Interrupt("Never come to an end.", sign="I could go on"),
                Say("Begin anew."),
            )
        ),
        Run(
            (Say("Are you back?"), Stop("Hang once more.", "toolu_signalled", "signalled", signal.SIGINT)),
            session="resumed",
        ),
        Run((Stop("Hang to the end.", "toolu_killed", "killed", signal.SIGKILL),), session="resumed"),
        Run((Say("Are you alive?"),), session="resumed"),
        Run(
            (Say("Go another way."), Stop("Hang for good.", "toolu_abandoned", "abandoned", signal.SIGKILL)),
            session="forked",
        ),
    ),
    replies=(
        Reply("Begin.", (text("I begin."),)),
        Reply(
            "Hang in a tool.",
            (
                text("I try."),
                call("toolu_quick", "Bash", command="echo quick"),
                call("toolu_hangs", "Bash", command=_HANG.format("hanging")),
            ),
        ),
        Reply("Never come to an end.", (text("I could go on for ever"),), stalls=True),
        Reply("Begin anew.", (text("Anew."),)),
        Reply("Are you back?", (text("I am back."),)),
        Reply("Hang once more.", (call("toolu_signalled", "Bash", command=_HANG.format("signalled")),)),
        Reply("Hang to the end.", (call("toolu_killed", "Bash", command=_HANG.format("killed")),)),
        Reply("Are you alive?", (text("I am alive."),)),
        Reply("Go another way.", (text("This is another way."),)),
        Reply("Hang for good.", (call("toolu_abandoned", "Bash", command=_HANG.format("abandoned")),)),
    ),
)

_PRICES = Scenario(
    name="prices",
    runs=(
        Run(
            (
                *(step for model in MODELS for step in (SetModel(model), Say(f"Say your name, {model}."))),
                SetModel(_MODEL),
                Say("Read a whole library."),
                Say("Search the web."),
                SetModel(UNHEARD_OF),
                Say("Who are you?"),
            )
        ),
    ),
    replies=(
        *(Reply(f"Say your name, {model}.", (text(model),)) for model in MODELS),
        Reply("Read a whole library.", (text("Read."),), usage={"cache_read_input_tokens": 250_000}),
        Reply("Search the web.", (text("Found."),), usage={"server_tool_use": {"web_search_requests": 3}}),
        Reply("Who are you?", (text("Nobody knows."),)),
        # Before it goes on with another model, the program tries it.
        Reply("", (text("Here."),)),
    ),
)

_FAILURES = Scenario(
    name="failures",
    runs=(Run((Say("Be busy at first."), Say("Refuse me."), Say("Be well again."))),),
    replies=(
        Reply("Be busy at first.", status=529),
        Reply("Be busy at first.", (text("Now I have time."),)),
        Reply("Refuse me.", status=400),
        Reply("Be well again.", (text("I am well."),)),
    ),
)

SCENARIOS: Mapping[str, Scenario] = {
    each.name: each for each in (_TOOLS, _AGENTS, _COMPACTION, _INTERRUPTION, _PRICES, _FAILURES)
}
