/** How long the page's thread was busy at a time: by the clock, and by what it computed itself. */

import type { CDPSession } from "@playwright/test";

interface TraceEvent {
  readonly name: string;
  readonly ph: string;
  readonly pid: number;
  readonly tid: number;
  /** Microseconds by the clock, and of the thread's own computing. */
  readonly dur?: number;
  readonly tdur?: number;
  readonly args?: { readonly name?: string };
}

const TASKS = new Set(["RunTask", "ThreadControllerImpl::RunTask"]);
const LONG_US = 50_000;

/** Watches until the returned function is called, which tells what was seen. */
export async function watchTasks(session: CDPSession): Promise<() => Promise<string>> {
  const events: TraceEvent[] = [];
  const take = ({ value }: { readonly value: object[] }) => {
    events.push(...(value as TraceEvent[]));
  };
  session.on("Tracing.dataCollected", take);
  await session.send("Tracing.start", {
    transferMode: "ReportEvents",
    traceConfig: { includedCategories: ["toplevel", "devtools.timeline", "__metadata"] },
  });
  return async () => {
    const complete = new Promise((resolve) => session.once("Tracing.tracingComplete", resolve));
    await session.send("Tracing.end");
    await complete;
    session.off("Tracing.dataCollected", take);
    return tell(events);
  };
}

function tell(events: readonly TraceEvent[]): string {
  const main = events.filter(({ name, args }) => name === "thread_name" && args?.name === "CrRendererMain");
  const tasks = events.filter(
    ({ name, ph, pid, tid }) =>
      ph === "X" && TASKS.has(name) && main.some((thread) => thread.pid === pid && thread.tid === tid),
  );
  const told = (what: string, times: readonly number[]) =>
    `longest task ${Math.round(Math.max(0, ...times) / 1000)} ms ${what} ` +
    `(${times.filter((time) => time > LONG_US).length} over 50)`;
  return [
    told(
      "by the clock",
      tasks.map(({ dur = 0 }) => dur),
    ),
    told(
      "of computing",
      tasks.map(({ tdur = 0 }) => tdur),
    ),
  ].join(", ");
}
