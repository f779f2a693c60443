"""What the stand-in for the API answers in more than one recording."""

from __future__ import annotations

from real_program.stand_in_api import Reply, call, text

FILES = {"a.txt": b"alpha\n", "b.txt": b"beta\n"}
"""What there is to read."""
READ_BOTH = (
    Reply(
        "Read both files.",
        (
            text("I read both."),
            call("toolu_read", "Read", file_path="a.txt"),
            call("toolu_shell", "Bash", command="cat b.txt", description="Show b"),
        ),
    ),
    Reply("toolu_shell", (text("Alpha and beta."),)),
)
SEND_AGENT = (
    Reply(
        "Send an agent.",
        (
            call(
                "toolu_agent",
                "Agent",
                description="Echo",
                prompt="Echo one.",
                subagent_type="general-purpose",
                run_in_background=False,
            ),
        ),
    ),
    Reply("Echo one.", (call("toolu_one", "Bash", command="echo one"),)),
    Reply("toolu_one", (text("One was echoed."),)),
    Reply("toolu_agent", (text("It is back."),)),
)
