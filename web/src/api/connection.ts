/** Whether the server is there. Every request tells; while it is gone, its health is asked for until it is back. */

import { createStore } from "@/lib/store";

export type Connection = "ok" | "gone" | "locked";

export const connection = createStore<Connection>("ok");

const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 5000;
let asking = false;

export function noteAnswer(status: number): void {
  connection.set(status === 401 ? "locked" : "ok");
}

export function noteSilence(): void {
  connection.set("gone");
  if (!asking) void askUntilBack();
}

/** Resolves when the server answers. */
export async function untilBack(): Promise<void> {
  noteSilence();
  await new Promise<void>((resolve) => {
    const stop = connection.subscribe(() => {
      if (connection.get() === "gone") return;
      stop();
      resolve();
    });
  });
}

/** Asks once whether the server is there; if not, it is gone until it is back. */
export async function checkHealth(): Promise<void> {
  if (asking) return;
  try {
    await fetch("/api/health", { cache: "no-store" });
  } catch {
    noteSilence();
  }
}

async function askUntilBack(): Promise<void> {
  asking = true;
  for (let pause = FIRST_PAUSE; connection.get() === "gone"; pause = Math.min(pause * 2, LONGEST_PAUSE)) {
    await new Promise((resolve) => setTimeout(resolve, pause));
    try {
      const response = await fetch("/api/health", { cache: "no-store" });
      if (response.ok) connection.set("ok");
    } catch {
      // Still gone: the next round asks again.
    }
  }
  asking = false;
}
