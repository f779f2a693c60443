/** What changes while a conversation goes on, besides what is said. */

import type { Message } from "@/api/types";

/** What became another: the model that answers, or what Claude may do without asking. */
export interface Change {
  readonly of: "model" | "mode";
  readonly before: string;
  readonly now: string;
}

/** Told of messages in order, it tells what became another with each. */
export class Changes {
  #last: Readonly<Record<Change["of"], string | null>> = { mode: null, model: null };

  take(message: Message): readonly Change[] {
    const now = { mode: modeOf(message), model: modelOf(message) };
    const before = this.#last;
    this.#last = { mode: now.mode ?? before.mode, model: now.model ?? before.model };
    return (["mode", "model"] as const).flatMap((of): Change[] => {
      const [was, is] = [before[of], now[of]];
      return was === null || is === null || was === is ? [] : [{ of, before: was, now: is }];
    });
  }
}

/** The model that answered; sub-agents have their own. */
function modelOf({ model, author, rule }: Message): string | null {
  return author === "claude" && rule === "answer" && model?.startsWith("claude") ? model : null;
}

/** The permission mode in which a prompt was typed; sub-agents are asked in that of their parents. */
function modeOf({ permission_mode, lane }: Message): string | null {
  return lane === "agent" ? null : permission_mode;
}
