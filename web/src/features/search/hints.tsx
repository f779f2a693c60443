/** Before anything is typed: what can be asked. */

const EXAMPLES = [
  ['"exact words"', "as written"],
  ["pars*", "words that begin like this"],
  ["timeout -test", "one without the other"],
  ["tool:Bash is:error", "commands that failed"],
  ["kind:prompt after:7d", "what you asked this week"],
  ["file:README.md", "everything that touched a file"],
] as const;

export function Hints({ onTry }: { readonly onTry: (text: string) => void }) {
  return (
    <div className="hints">
      <p>Prompts, answers, thinking, tool input and tool output; sub-agents included.</p>
      <ul>
        {EXAMPLES.map(([query, what]) => (
          <li key={query}>
            <button
              type="button"
              onClick={() => {
                onTry(query);
              }}
            >
              <code>{query}</code>
              <span>{what}</span>
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}
