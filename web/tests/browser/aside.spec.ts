/** What stands aside of a plain conversation: inline sub-agents, changes of mode, sessions without files. */

import type { Agent, HookItem } from "@/api/types";

import { buildDay } from "../fixture/actions";
import { SILENT } from "../fixture/archive";
import {
  answered,
  buildAnswer,
  buildCall,
  buildPrompt,
  callBlock,
  iso,
  START,
  textBlock,
} from "../fixture/builders";
import { of } from "../fixture/conversation";
import type { Fixture } from "../fixture/server";
import { findViolations } from "./axe";
import { expect, test } from "./page";

const AGENT: Agent = {
  index: 0,
  id: "inner",
  type: "Explore",
  description: "Look **around** the harbour",
  state: "done",
  depth: 1,
  inline: true,
  background: false,
  parent_id: null,
  run_id: null,
  source: null,
  call: 0,
  call_source: "main",
  linked_by: "prompt",
};

/** A sub-agent that speaks in the transcript, between what the session itself says. */
function giveInline(fixture: Fixture): void {
  const own = { agent_id: "inner", lane: "agent", is_sidechain: true } as const;
  const call = buildCall({
    name: "Task",
    category: "agent",
    agent_id: "inner",
    title: "Look around",
    input: { prompt: "Look around" },
    result: answered("The harbour is calm."),
  });
  const messages = [
    buildPrompt(0, "How is the harbour?", 0),
    buildAnswer(1, [callBlock(call)], 0),
    buildPrompt(2, "Look around", 0, { ...own, author: "agent" }),
    buildAnswer(3, [textBlock("I look around.")], 0, own),
    buildAnswer(4, [textBlock("It is calm.")], 0, own),
    buildAnswer(5, [textBlock("## The **answer**: `calm`")], 0),
  ];
  fixture.give(SILENT, { ...of(messages, []), agents: [AGENT] });
}

test("a sub-agent that speaks in the transcript is opened alone", async ({ page, fixture }) => {
  giveInline(fixture);
  await page.goto(`/sessions/${SILENT}`);
  await expect(page.getByText("I look around.")).toBeHidden();
  await page.locator("summary", { hasText: "Look around" }).click();
  await expect(page.getByText("I look around.")).toBeVisible();
  await page.getByRole("link", { name: "Open alone" }).click();
  await expect(page).toHaveURL(/\/agents\/inner$/);
  await expect(page.getByText("It is calm.")).toBeVisible();
  await expect(page.getByText("How is the harbour?")).toBeHidden();
  await expect(page.locator(".fl-gap")).toHaveCount(0);
  await page.getByRole("link", { name: "Whole conversation" }).click();
  await expect(page.getByText("How is the harbour?")).toBeVisible();
});

test("titles of one line have no signs of Markdown", async ({ page, fixture }) => {
  giveInline(fixture);
  await page.goto(`/sessions/${SILENT}`);
  await page.getByRole("tab", { name: /Agents/ }).click();
  await expect(page.getByRole("navigation", { name: "Agents" })).toContainText("Look around the harbour");
});

test("a change of the permission mode is marked", async ({ page, fixture }) => {
  const prompt = (index: number, text: string, mode: string) =>
    buildPrompt(index, text, index, { permission_mode: mode });
  fixture.give(SILENT, of([prompt(0, "Think first", "plan"), prompt(1, "Now do it", "acceptEdits")], []));
  await page.goto(`/sessions/${SILENT}`);
  await expect(page.locator(".markline")).toHaveText(/^Mode plans only → accepts edits, \d\d:\d\d$/);
});

test("a session that only hooks told of says so, and shows what they told", async ({
  page,
  fixture,
  expected,
}) => {
  expected.push(/404/);
  const heard = (id: number, event_name: string, label: string): HookItem => ({
    id,
    delivery_id: `d${id}`,
    at: iso(START + id * 1000),
    event_name,
    tool_name: null,
    label,
    group: null,
    context: event_name === "SessionStart" ? { source: "startup" } : null,
    tool_use_id: null,
    agent_id: null,
    message: null,
    commands: [],
  });
  fixture.heard.set("only-heard", [
    heard(1, "SessionStart", "Session started (startup)"),
    heard(2, "UserPromptSubmit", "Look around"),
  ]);
  await page.goto("/sessions/only-heard");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Look around");
  await expect(page.getByText("So far, only hooks have reported this session.")).toBeVisible();
  await page.getByRole("button", { name: /SessionStart/ }).click();
  await expect(page.getByText('"source": "startup"')).toBeVisible();
  await expect(page.getByRole("link", { name: "Action log" }).last()).toHaveAttribute(
    "href",
    "/actions/only-heard",
  );
  expect(await findViolations(page)).toEqual([]);
});

test("a session that nobody told of could not be read", async ({ page, expected }) => {
  expected.push(/404/);
  await page.goto("/sessions/nobody-knows-it");
  await expect(page.getByText("This session could not be read.")).toBeVisible();
});

test("the action log can be narrowed down to a tool that is not loaded yet", async ({ page, fixture }) => {
  const [first] = buildDay();
  if (!first) throw new Error("an empty day");
  const many = Array.from({ length: 260 }, (_, index) => ({ ...first, index, name: "Bash" }));
  fixture.actions.set(SILENT, [...many, { ...first, index: 260, name: "Rare" }]);
  await page.goto(`/actions/${SILENT}`);
  const tools = page.getByRole("combobox", { name: "Tool" });
  await expect(tools.locator("option")).toHaveText(["Any tool", "Bash (260)", "Rare (1)"]);
  await tools.selectOption("Rare");
  await expect(page.getByRole("heading", { level: 1 })).toContainText("1 action");
});
