import "./styles/index.css";

import { QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { createQueryClient } from "@/api/queries";
import { App } from "@/features/shell/app";
import { listenToKeys } from "@/state/keys";
import { applyTheme } from "@/state/settings";

const root = document.getElementById("root");
if (root) {
  applyTheme(document.documentElement);
  listenToKeys(window);
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={createQueryClient()}>
        <App />
      </QueryClientProvider>
    </StrictMode>,
  );
}
