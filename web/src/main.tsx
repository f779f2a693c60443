import "./styles/index.css";

import { QueryClientProvider } from "@tanstack/react-query";
import { lazy, StrictMode, Suspense } from "react";
import { createRoot } from "react-dom/client";

import { createQueryClient } from "@/api/queries";
import { showNotification } from "@/features/mission-control/desktop";
import { App } from "@/features/shell/app";
import { startAgain } from "@/features/shell/start-again";
import { SHARED } from "@/lib/routes";
import { listenToKeys } from "@/state/keys";
import { live } from "@/state/live/live";
import { refreshQueries } from "@/state/live/refresh";
import { watchWaits } from "@/state/live/waits";
import { applyTheme } from "@/state/settings";

const SharedApp = lazy(() =>
  import("@/features/sharing/shared-app").then((part) => ({ default: part.SharedApp })).catch(startAgain),
);

const root = document.getElementById("root");
if (root) {
  applyTheme(document.documentElement);
  listenToKeys(window);
  const client = createQueryClient();
  refreshQueries(client, live);
  if (!SHARED) watchWaits(client, live, showNotification);
  live.start();
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={client}>
        {SHARED ? (
          <Suspense fallback={null}>
            <SharedApp />
          </Suspense>
        ) : (
          <App />
        )}
      </QueryClientProvider>
    </StrictMode>,
  );
}
