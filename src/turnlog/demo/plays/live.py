"""Sessions that are at work while somebody looks: one goes on, one waits for a person."""

from __future__ import annotations

from datetime import datetime, timedelta

from turnlog.demo.stage import Stage

_HARBOR = "/home/robin/code/harbor-api"

_LOGIN = """\
     1→import { Router } from "./router";
     2→import { verify } from "./passwords";
     3→
     4→export const login = new Router().post("/login", async (request) => {
     5→  const { name, password } = await request.json();
     6→  const user = await verify(name, password);
     7→  return user ? request.session.open(user) : new Response(null, { status: 401 });
     8→});"""


def add_rate_limit(now: datetime) -> Stage:
    """Show a plan, a sub-agent, edits and tests, the second half of them live."""
    stage = Stage("limit", project=_HARBOR, begins=now - timedelta(minutes=4), branch="login-limit")
    stage.prompt(
        "Somebody tries passwords at /login. Limit it to 5 attempts a minute for each address.", after=0
    )
    stage.think("I should find out whether there is a store for counters already, before adding one.")
    stage.say("I'll look for what is already there before I add anything.", ends=False)
    agent = stage.agent("Explore", stage.now + timedelta(seconds=2))
    agent.prompt("Find middleware and shared counters in harbor-api. Report files and what they do.", after=0)
    agent.call(
        "Glob",
        {"pattern": "src/**/*.ts"},
        "src/router.ts\nsrc/login.ts\nsrc/counters.ts\nsrc/passwords.ts",
        took=0.2,
    )
    agent.call(
        "Grep", {"pattern": "counter", "path": "src"}, "src/counters.ts:1:export class Counters {", took=0.3
    )
    agent.say(
        "`src/counters.ts` has `Counters` with `increase(key, seconds)`, kept in memory. No middleware uses it yet."
    )
    stage.call(
        "Agent",
        {
            "description": "Find counters",
            "prompt": "Find middleware and shared counters in harbor-api. Report files and what they do.",
            "subagent_type": "Explore",
        },
        "`src/counters.ts` has `Counters` with `increase(key, seconds)`, kept in memory. No middleware uses it yet.",
        took=0.5,
        agent=agent,
    )
    stage.call("Read", {"file_path": f"{_HARBOR}/src/login.ts"}, _LOGIN, took=0.1)
    stage.call(
        "TodoWrite",
        {
            "todos": [
                {"content": "Limit by address", "status": "in_progress", "activeForm": "Limiting by address"},
                {"content": "Answer 429 with Retry-After", "status": "pending", "activeForm": "Answering 429"},
                {"content": "Test it", "status": "pending", "activeForm": "Testing"},
            ]
        },
        "Todos have been modified successfully.",
        took=0.1,
    )
    stage.now = max(stage.now, now - timedelta(seconds=30))
    stage.call(
        "Edit",
        {
            "file_path": f"{_HARBOR}/src/login.ts",
            "old_string": "  const { name, password } = await request.json();",
            "new_string": "  if (counters.increase(`login:${request.address}`, 60) > 5) {\n"
            '    return new Response(null, { status: 429, headers: { "Retry-After": "60" } });\n  }\n'
            "  const { name, password } = await request.json();",
        },
        f"The file {_HARBOR}/src/login.ts has been updated.",
        took=0.1,
    )
    stage.wait(20)
    stage.say(
        "The sixth attempt within a minute now gets `429` with `Retry-After`. A test for it:",
        after=6,
        ends=False,
    )
    stage.call(
        "Write",
        {
            "file_path": f"{_HARBOR}/tests/login.test.ts",
            "content": 'test("the sixth attempt is refused", async () => {\n  for (let n = 0; n < 5; n++) await attempt();\n'
            "  expect((await attempt()).status).toBe(429);\n});\n",
        },
        f"File created successfully at: {_HARBOR}/tests/login.test.ts",
        took=0.2,
    )
    stage.wait(8)
    stage.call(
        "Bash",
        {"command": "npm test -- login", "description": "Run the login tests"},
        "Exit code 1\n\x1b[31mFAIL\x1b[0m tests/login.test.ts\n  \x1b[31m✗ the sixth attempt is refused\x1b[0m\n"
        "    ReferenceError: counters is not defined",
        took=7.5,
        failed=True,
    )
    stage.say("The import is missing.", after=5, ends=False)
    stage.call(
        "Edit",
        {
            "file_path": f"{_HARBOR}/src/login.ts",
            "old_string": 'import { verify } from "./passwords";',
            "new_string": 'import { counters } from "./counters";\nimport { verify } from "./passwords";',
        },
        f"The file {_HARBOR}/src/login.ts has been updated.",
        took=0.2,
    )
    stage.wait(6)
    stage.call(
        "Bash",
        {"command": "npm test -- login", "description": "Run the login tests"},
        "\x1b[32mPASS\x1b[0m tests/login.test.ts\n  \x1b[32m✓\x1b[0m the sixth attempt is refused (38 ms)\n\n"
        "Tests: \x1b[32m4 passed\x1b[0m, 4 total",
        took=8.2,
    )
    stage.title("Limit attempts at /login")
    stage.say(
        "Login is limited to **5 attempts a minute** for each address; the sixth gets `429` and `Retry-After: 60`.\n\n"
        "One thing to know: `Counters` are in memory, so with several processes each counts by itself.",
        after=7,
    )
    return stage


def wait_for_permission(now: datetime) -> Stage:
    """Show a call that nobody has allowed yet."""
    stage = Stage(
        "push",
        project=_HARBOR,
        begins=now - timedelta(minutes=9),
        model="claude-sonnet-4-5",
        branch="deps/october",
    )
    stage.hook("SessionStart", source="startup", model=stage.model)
    prompt = "Update the dependencies, run the tests, and push it if they pass."
    stage.hook("UserPromptSubmit", prompt=prompt)
    stage.prompt(prompt, after=0)
    stage.call(
        "Bash",
        {"command": "npm update && npm test", "description": "Update and test"},
        "changed 14 packages in 9s\n\nTests: 112 passed, 112 total",
        took=48,
    )
    stage.call(
        "Bash",
        {"command": "git commit -am 'Update dependencies'", "description": "Commit"},
        "[deps/october 5be1c02] Update dependencies\n 2 files changed, 96 insertions(+), 91 deletions(-)",
        took=0.4,
    )
    stage.say("All 112 tests pass. I'll push the branch.", ends=False)
    push = {"command": "git push --set-upstream origin deps/october", "description": "Push the branch"}
    call = stage.call("Bash", push, None)
    stage.hook("PreToolUse", tool_name="Bash", tool_input=push, tool_use_id=call)
    stage.hook("PermissionRequest", tool_name="Bash", tool_input=push, tool_use_id=call)
    stage.title("Update dependencies")
    return stage
