import base from "../../playwright.config";

export default {
  ...base,
  testDir: ".",
  testMatch: "*.measure.ts",
  outputDir: "../../.results/measure",
  workers: 1,
  fullyParallel: false,
  timeout: 600_000,
};
