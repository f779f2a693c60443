/** In which state a session is: a shape each, with its name for those who do not see it. */

const STATES = {
  needs_you: ["wait", "Needs you"],
  working: ["work", "Working"],
  done: ["done", "Done"],
  stopped: ["fail", "Stopped"],
  idle: ["idle", "Idle"],
} as const;

export type StateName = keyof typeof STATES;

export function StateMark({ state }: { readonly state: StateName | null }) {
  if (state === null) return <span className="st" aria-hidden="true" />;
  const [shape, name] = STATES[state];
  return (
    <>
      <span className={`st st-${shape}`} title={name} aria-hidden="true" />
      <span className="sr">{name}</span>
    </>
  );
}

export function stateName(state: StateName): string {
  return STATES[state][1];
}
