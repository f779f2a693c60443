/** The real server with its sample sessions, as a stranger meets it: an empty home, and nothing but the demo. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

export interface Demo {
  /** Lets one browser in, once. */
  readonly address: string;
  readonly process: ChildProcess;
  readonly home: string;
}

export function serveDemo(): Promise<Demo> {
  return serve(["--demo"]);
}

/** The real server with sessions of one's own, by their names. */
export function serveSessions(sessions: Readonly<Record<string, string>>): Promise<Demo> {
  return serve([], async (home) => {
    const folder = join(home, "claude", "projects", "-srv-shop");
    await mkdir(folder, { recursive: true });
    for (const [name, lines] of Object.entries(sessions)) await writeFile(join(folder, `${name}.jsonl`), lines);
  });
}

async function serve(
  options: readonly string[],
  prepare: (home: string) => Promise<void> = () => Promise.resolve(),
): Promise<Demo> {
  const home = await mkdtemp(join(tmpdir(), "turnlog-page-"));
  await prepare(home);
  const child = spawn("../.venv/bin/turnlog", ["serve", ...options, "--no-browser", "--json", "--port", "0"], {
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
