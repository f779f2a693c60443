/** What was said and done, as Markdown that can be pasted elsewhere. Pure. */

import type { Call, Message } from "@/api/types";
import { formatDuration } from "@/lib/format";
import { textOf } from "@/lib/json";
import { stripTerminal } from "@/lib/visible";
import { nameOf } from "@/state/call-names";
import { outcomeOf } from "@/state/calls";

const SPEAKERS: Readonly<Record<string, string>> = { human: "You", claude: "Claude", agent: "Agent" };
const LONGEST_OUTPUT = 4000;

/** A message: what it says, then what it did. */
export function messageMarkdown(message: Message): string {
  const calls = message.blocks.flatMap((block) => (block.kind === "call" ? [callLine(block.call)] : []));
  return [message.content, calls.join("\n")].filter((part) => part.trim() !== "").join("\n\n");
}

/** Several messages, each under who said it; answers of one speaker in a row stand under one heading. */
export function turnMarkdown(messages: readonly Message[]): string {
  const parts: string[] = [];
  let speaker: string | null = null;
  for (const message of messages) {
    const name = SPEAKERS[message.author];
    const text = messageMarkdown(message);
    if (name === undefined || text === "" || message.rule === "meta") continue;
    if (name !== speaker) parts.push(`## ${name}`);
    speaker = name;
    parts.push(text);
  }
  return `${parts.join("\n\n")}\n`;
}

/** A call with what went in and what came out. */
export function callMarkdown(call: Call): string {
  const command = textOf(call.input, "command");
  const input = command ?? (call.input == null ? null : JSON.stringify(call.input, null, 2));
  const output = call.result ? stripTerminal(call.result.text) : null;
  return [
    callLine(call),
    input === null ? null : fence(input, command === null ? "json" : "sh"),
    output?.trim() ? fence(output.trimEnd(), "") : null,
  ]
    .filter((part) => part !== null)
    .join("\n\n");
}

function callLine(call: Call): string {
  const { name, argument } = nameOf(call);
  const { text } = outcomeOf(call);
  const took = call.duration_ms === null ? null : formatDuration(call.duration_ms);
  const rest = [text, took].filter(Boolean).join(", ");
  return `- **${name}**${argument ? ` ${inlineCode(argument)}` : ""}${rest ? ` (${rest})` : ""}`;
}

/** Fences are longer than any that stand within. */
function fence(text: string, language: string): string {
  const cut = text.length > LONGEST_OUTPUT ? `${text.slice(0, LONGEST_OUTPUT)}\n…` : text;
  const longest = Math.max(2, ...[...cut.matchAll(/`{3,}/g)].map(([ticks]) => ticks.length));
  const ticks = "`".repeat(longest + 1);
  return `${ticks}${language}\n${cut}\n${ticks}`;
}

function inlineCode(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  const ticks = line.includes("`") ? "``" : "`";
  return line.includes("`") ? `${ticks} ${line} ${ticks}` : `${ticks}${line}${ticks}`;
}
