/** A machine that is six times as slow; what is waited for is waited for longer. */

import { expect as usual } from "@playwright/test";
import type { Page } from "@playwright/test";

export const patient = usual.configure({ timeout: 60_000 });

export async function slowDown(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page);
  await session.send("Emulation.setCPUThrottlingRate", { rate: 6 });
}
