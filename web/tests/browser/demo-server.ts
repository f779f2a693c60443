/** The real server with its sample sessions, as a stranger meets it: an empty home, and nothing but the demo. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

export interface Demo {
  /** Lets one browser in, once. */
  readonly address: string;
  readonly process: ChildProcess;
  readonly home: string;
}

export async function serveDemo(): Promise<Demo> {
  const home = await mkdtemp(join(tmpdir(), "turnlog-page-"));
  const child = spawn("../.venv/bin/turnlog", ["serve", "--demo", "--no-browser", "--json", "--port", "0"], {
    env: {
      ...process.env,
      HOME: home,
      TURNLOG_HOME: join(home, "turnlog"),
      CLAUDE_CONFIG_DIR: join(home, "claude"),
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines = createInterface({ input: child.stdout });
  let text = "";
  for await (const line of lines) {
    text += line;
    if (line.trimEnd().endsWith("}")) break;
  }
  const told = JSON.parse(text) as { open_url: string };
  return { address: told.open_url, process: child, home };
}

/** Ends it as Ctrl C does, and returns its exit status. */
export async function stopDemo(demo: Demo): Promise<number | null> {
  demo.process.kill("SIGTERM");
  const [status] = (await once(demo.process, "exit")) as [number | null];
  await rm(demo.home, { recursive: true, force: true });
  return status;
}
