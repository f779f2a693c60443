import js from "@eslint/js";
import jsxA11y from "eslint-plugin-jsx-a11y";
import reactHooks from "eslint-plugin-react-hooks";
import tseslint from "typescript-eslint";

const NETWORK = ["fetch", "XMLHttpRequest", "WebSocket", "EventSource"];

export default tseslint.config(
  { ignores: ["node_modules", "public", ".results", "src/api/schema.ts", "eslint.config.js"] },
  js.configs.recommended,
  tseslint.configs.strictTypeChecked,
  tseslint.configs.stylisticTypeChecked,
  reactHooks.configs.flat.recommended,
  jsxA11y.flatConfigs.strict,
  {
    languageOptions: { parserOptions: { project: "./tests/tsconfig.json" } },
    rules: {
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/consistent-type-imports": "error",
      "@typescript-eslint/switch-exhaustiveness-check": ["error", { considerDefaultExhaustiveForUnions: true }],
      // The page never makes HTML of text: transcripts are untrusted.
      "no-restricted-syntax": [
        "error",
        { selector: "JSXAttribute[name.name='dangerouslySetInnerHTML']", message: "Text stays text." },
        {
          selector: "MemberExpression[property.name=/^(innerHTML|outerHTML|insertAdjacentHTML)$/]",
          message: "Text stays text.",
        },
      ],
    },
  },
  {
    // Playwright's `use` is no hook.
    files: ["tests/**"],
    rules: { "react-hooks/rules-of-hooks": "off", "no-empty-pattern": "off" },
  },
  {
    files: ["src/**"],
    ignores: ["src/api/**"],
    rules: {
      "no-restricted-globals": [
        "error",
        ...NETWORK.map((name) => ({ name, message: "Only api/ calls the network." })),
      ],
    },
  },
  {
    files: ["src/{lib,ui}/**"],
    rules: {
      "no-restricted-imports": ["error", { patterns: ["@/api/*", "@/state/*", "@/features/*"] }],
    },
  },
  {
    files: ["src/{api,state}/**"],
    rules: { "no-restricted-imports": ["error", { patterns: ["@/features/*", "@/ui/*"] }] },
  },
);
