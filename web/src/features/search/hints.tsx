/** Before anything is typed: what can be asked. */

const EXAMPLES = [
  ['"exact words"', "as they stand"],
  ["pars*", "words that begin so"],
  ["timeout -test", "one without the other"],
  ["tool:Bash is:error", "commands that failed"],
  ["kind:prompt after:7d", "what you asked this week"],
  ["file:README.md", "all that touched a file"],
] as const;

export function Hints({ onTry }: { readonly onTry: (text: string) => void }) {
  return (
    <div className="hints">
      <p>Prompts, answers, thinking, what tools were given and what they answered; of sub-agents, too.</p>
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
