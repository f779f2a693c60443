/** Who sees sessions where nobody chose: by the paths of their projects. */

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import type { Me } from "@/api/me";
import { rulesQuery, setRule } from "@/api/people";
import type { Concerned, Rule } from "@/api/people";
import { Confirm } from "@/features/archive/confirm";
import { formatCount, formatCounted } from "@/lib/format";
import type { Visibility } from "@/lib/routes";
import { showControls } from "@/lib/visible";
import { Button, Segments } from "@/ui/controls";
import { Field } from "@/ui/field";
import { Notice } from "@/ui/notice";
import { Skeleton } from "@/ui/skeleton";

interface RulesProps {
  readonly me: Me;
  readonly onDone: (said: string) => void;
}

interface Wish {
  readonly pattern: string;
  /** Null: there is to be no rule any more. */
  readonly visibility: Visibility | null;
}

const SEEN: Readonly<Record<Visibility, string>> = { private: "private", team: "shared" };

export function Rules({ me, onDone }: RulesProps) {
  const { data, error } = useQuery(rulesQuery());
  const [wish, setWish] = useState<Wish | null>(null);
  return (
    <section className="fig" aria-labelledby="rules-title">
      <header>
        <h2 id="rules-title">
          Rules for projects {data && <span className="n">{formatCount(data.length)}</span>}
        </h2>
      </header>
      <p className="quiet">
        Who sees a session whose owner has not chosen. Without a rule it is private. The longest matching
        pattern wins.
      </p>
      {error && <Notice title="The rules could not be listed." detail={error.message} />}
      {!data && !error && <Skeleton rows={2} shape="turn" />}
      {data?.length === 0 && <p className="pe-none">There are no rules: sessions are private.</p>}
      <ul className="ar-list">
        {data?.map((rule) => (
          <RuleRow key={rule.pattern} rule={rule} onWish={me.is_admin ? setWish : null} />
        ))}
      </ul>
      {me.is_admin && <NewRule onWish={setWish} />}
      {wish && (
        <RuleDialog
          wish={wish}
          onDone={onDone}
          onClose={() => {
            setWish(null);
          }}
        />
      )}
    </section>
  );
}

interface RuleRowProps {
  readonly rule: Rule;
  readonly onWish: ((wish: Wish) => void) | null;
}

function RuleRow({ rule, onWish }: RuleRowProps) {
  return (
    <li className="ar-row pe-rule">
      <code className="clip">{showControls(rule.pattern)}</code>
      <span className="meta">{SEEN[rule.visibility]}</span>
      {onWish && (
        <Button
          className="btn-s btn-bare"
          aria-label={`Remove the rule ${rule.pattern}`}
          onClick={() => {
            onWish({ pattern: rule.pattern, visibility: null });
          }}
        >
          Remove…
        </Button>
      )}
    </li>
  );
}

function NewRule({ onWish }: { readonly onWish: (wish: Wish) => void }) {
  const [pattern, setPattern] = useState("");
  const [visibility, setVisibility] = useState<Visibility>("team");
  return (
    <form
      className="fields new-rule"
      onSubmit={(event) => {
        event.preventDefault();
        if (pattern.trim() !== "") onWish({ pattern: pattern.trim(), visibility });
      }}
    >
      <Field
        name="Pattern"
        hint="Matches the project’s path, with * for anything; without a slash, only its last part."
      >
        {(ties) => (
          <input
            {...ties}
            type="text"
            autoComplete="off"
            autoCapitalize="none"
            spellCheck={false}
            placeholder="*/website"
            maxLength={1000}
            value={pattern}
            onChange={(event) => {
              setPattern(event.currentTarget.value);
            }}
          />
        )}
      </Field>
      <div className="acts-row">
        <Segments
          label="Its sessions are"
          options={[
            ["team", "Shared"],
            ["private", "Private"],
          ]}
          value={visibility}
          onChange={setVisibility}
        />
        <span className="grow" />
        <Button type="submit" className="btn-s" disabled={pattern.trim() === ""}>
          Set the rule…
        </Button>
      </div>
    </form>
  );
}

interface RuleDialogProps {
  readonly wish: Wish;
  readonly onDone: (said: string) => void;
  readonly onClose: () => void;
}

function RuleDialog({ wish, onDone, onClose }: RuleDialogProps) {
  const { pattern, visibility } = wish;
  return (
    <Confirm<Concerned>
      title={
        visibility === null
          ? "Remove this rule?"
          : visibility === "team"
            ? "Share these sessions?"
            : "Make these sessions private?"
      }
      subject={showControls(pattern)}
      queryKey={["rule-preview", pattern, visibility]}
      act={(dryRun) => setRule(pattern, visibility, dryRun)}
      verb={visibility === null ? "Remove it" : "Set it"}
      onClose={onClose}
      onDone={({ sessions }) => {
        const counted = formatCounted(sessions, "session");
        onDone(
          visibility === null
            ? `The rule for ${pattern} was removed; ${counted} changed.`
            : `The rule for ${pattern} was set; ${counted} changed.`,
        );
      }}
      describe={({ sessions }) => <p>{describe(sessions, visibility)}</p>}
    />
  );
}

function describe(sessions: number, visibility: Visibility | null): string {
  const later = " It also applies to future sessions.";
  if (sessions === 0) return `No existing session changes.${visibility === null ? "" : later}`;
  const counted = formatCounted(sessions, "session");
  if (visibility === null)
    return `For ${counted}, the next matching rule decides who sees them; without one they are private.`;
  return visibility === "team"
    ? `The team will see ${counted} that it does not see now.${later} Owners’ own choices still come first.`
    : `The team will no longer see ${counted}.${later} Owners’ own choices still come first.`;
}
