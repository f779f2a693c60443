/** Makes a token, and shows its secret this once, with what to do with it. */

import { useMutation } from "@tanstack/react-query";
import { useRef, useState } from "react";

import { createToken } from "@/api/people";
import type { NewToken, TokenKind, User } from "@/api/people";
import { copyText } from "@/lib/clipboard";
import { pushSteps, warnOfAddress } from "@/lib/tokens";
import { Button, IconButton, Segments } from "@/ui/controls";
import { Dialog } from "@/ui/dialog";
import { Field } from "@/ui/field";
import { Notice } from "@/ui/notice";

interface NewTokenDialogProps {
  readonly user: User;
  readonly onDone: (said: string) => void;
  readonly onClose: () => void;
}

export function NewTokenDialog({ user, onDone, onClose }: NewTokenDialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const close = () => dialog.current?.close();
  const [made, setMade] = useState<NewToken | null>(null);
  return (
    <Dialog
      dialog={dialog}
      title={made ? "This is shown only once" : "New token"}
      subject={`for ${user.name}`}
      className="token-dialog"
      onClose={onClose}
    >
      {made ? (
        <Secret made={made} onClose={close} />
      ) : (
        <Wish
          user={user}
          onMade={(token) => {
            setMade(token);
            onDone(`“${token.token.label}” was created.`);
          }}
          onClose={close}
        />
      )}
    </Dialog>
  );
}

const KINDS: readonly (readonly [TokenKind, string])[] = [
  ["personal", "Personal"],
  ["machine", "Machine"],
];
const MEANS: Readonly<Record<TokenKind, string>> = {
  personal: "Logs its user in, in a browser or in programs.",
  machine:
    "Lets one machine push its user’s sessions, and nothing else. It works only for the first machine that uses it.",
};
const TERMS = { "": "Until it is revoked", "7": "A week", "30": "30 days", "90": "90 days", "365": "A year" };

interface WishProps {
  readonly user: User;
  readonly onMade: (token: NewToken) => void;
  readonly onClose: () => void;
}

function Wish({ user, onMade, onClose }: WishProps) {
  // A viewer has no sessions to push.
  const kinds = user.role === "viewer" ? KINDS.slice(0, 1) : KINDS;
  const [kind, setKind] = useState<TokenKind>("personal");
  const [label, setLabel] = useState("");
  const [days, setDays] = useState("");
  const making = useMutation({ mutationFn: createToken, onSuccess: onMade });
  return (
    <form
      className="fields"
      onSubmit={(event) => {
        event.preventDefault();
        making.mutate({
          kind,
          label: label.trim() === "" ? `${kind} token` : label.trim(),
          user: user.name,
          days: days === "" ? null : Number(days),
        });
      }}
    >
      <div className="field">
        <Segments label="Kind" options={kinds} value={kind} onChange={setKind} />
        <p className="meta">{MEANS[kind]}</p>
      </div>
      <Field name="Label" hint="A name to recognize it by, such as where it is used.">
        {(ties) => (
          <input
            {...ties}
            type="text"
            autoComplete="off"
            maxLength={100}
            placeholder={kind === "machine" ? "laptop" : "browser at work"}
            value={label}
            onChange={(event) => {
              setLabel(event.currentTarget.value);
            }}
          />
        )}
      </Field>
      <Field name="Valid for">
        {(ties) => (
          <select
            {...ties}
            value={days}
            onChange={(event) => {
              setDays(event.currentTarget.value);
            }}
          >
            {Object.entries(TERMS).map(([term, name]) => (
              <option key={term} value={term}>
                {name}
              </option>
            ))}
          </select>
        )}
      </Field>
      {making.error && <Notice title="No token was created." detail={making.error.message} />}
      <footer>
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" className="btn-solid" disabled={making.isPending}>
          Create{" "}
        </Button>
      </footer>
    </form>
  );
}

function Secret({ made, onClose }: { readonly made: NewToken; readonly onClose: () => void }) {
  const server = window.location.origin;
  const warning = warnOfAddress(server);
  return (
    <div className="secret">
      <Copied name="Token" text={made.secret} />
      {made.token.kind === "personal" ? (
        <p>
          Pass it on over a private channel. {made.token.user} uses it to log in at <code>{server}/login</code>,
          and programs send it as <code>Authorization: Bearer</code>.
        </p>
      ) : (
        <>
          <p>Run this on that machine, where turnlog is installed:</p>
          <ol>
            {pushSteps(server, made.secret).map(({ what, command }) => (
              <li key={command}>
                <span>{what}</span>
                <Copied name={what} text={command} />
              </li>
            ))}
          </ol>
          {warning !== null && <p className="wait">{warning}</p>}
        </>
      )}
      <footer>
        <Button className="btn-solid" onClick={onClose}>
          I have it
        </Button>
      </footer>
    </div>
  );
}

/** Something to be copied, and whether that worked. */
function Copied({ name, text }: { readonly name: string; readonly text: string }) {
  const [said, setSaid] = useState("");
  return (
    <div className="copied">
      <code>{text}</code>
      <IconButton
        icon={said === "copied" ? "check" : "copy"}
        label={`Copy: ${name}`}
        onClick={() => {
          void copyText(text).then((done) => {
            setSaid(done ? "copied" : "The browser did not allow copying: select it instead.");
          });
        }}
      />
      <span className={said === "copied" ? "sr" : "meta"} role="status">
        {said}
      </span>
    </div>
  );
}
