/// <reference types="vitest/config" />
import { fileURLToPath } from "node:url";

import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// `vite` alone serves the page while it is worked on, and asks a turnlog that runs beside it for data.
const SERVER = process.env["TURNLOG_URL"] ?? "http://127.0.0.1:8484";

export default defineConfig({
  plugins: [react()],
  resolve: { alias: { "@": fileURLToPath(new URL("./src", import.meta.url)) } },
  build: {
    outDir: process.env["TURNLOG_PAGE"] ?? "../src/turnlog/server/page",
    emptyOutDir: true,
    target: "es2023",
    // Everything is a file: the page's Content-Security-Policy knows no inline scripts, styles or data URLs.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  server: { proxy: { "/api": SERVER, "/open": SERVER } },
  test: { include: ["tests/unit/**/*.test.ts"], environment: "node" },
});
