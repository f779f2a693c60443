/** A new link: how long it is good, what it leaves out, and what it will show, before there is one. */

import { useMutation, useQuery } from "@tanstack/react-query";
import { useId, useRef, useState } from "react";

import { createLink, linkPreviewQuery } from "@/api/sharing";
import { copyText } from "@/lib/clipboard";
import { formatDate } from "@/lib/format";
import { linkWords } from "@/state/sharing";
import { useSettled } from "@/state/use-settled";
import { Button } from "@/ui/controls";
import { Icon } from "@/ui/icons";
import { Notice } from "@/ui/notice";

import { LinkContents } from "./link-contents";

const TYPING_MS = 300;
const DAYS = [
  [1, "1 day"],
  [7, "7 days"],
  [30, "30 days"],
  [90, "90 days"],
] as const;

interface NewLinkProps {
  readonly session: string;
  readonly onDone: () => Promise<unknown>;
}

export function NewLink({ session, onDone }: NewLinkProps) {
  const id = useId();
  const [days, setDays] = useState(7);
  const [typed, setTyped] = useState("");
  const settled = useSettled(typed, TYPING_MS);
  const words = linkWords(settled);
  const preview = useQuery(linkPreviewQuery(session, words));
  const current = settled === typed && !preview.isPlaceholderData;
  const make = useMutation({ mutationFn: createLink, onSuccess: onDone });
  if (make.data) {
    return (
      <Made
        address={new URL(make.data.path, window.location.href).href}
        until={make.data.link.expires_at}
        onAnother={() => {
          make.reset();
        }}
      />
    );
  }
  const failure = make.error ?? (current ? preview.error : null);
  return (
    <form
      className="new-link"
      aria-label="A new link"
      onSubmit={(event) => {
        event.preventDefault();
        make.mutate({ session, days, words: linkWords(typed) });
      }}
    >
      <div className="how">
        <label htmlFor={`${id}-days`}>Valid for</label>
        <select
          id={`${id}-days`}
          value={days}
          onChange={(event) => {
            setDays(Number(event.currentTarget.value));
          }}
        >
          {DAYS.map(([value, name]) => (
            <option key={value} value={value}>
              {name}
            </option>
          ))}
        </select>
        <label htmlFor={`${id}-words`}>Without</label>
        <input
          id={`${id}-words`}
          type="text"
          placeholder="Your own words, separated by commas"
          autoComplete="off"
          spellCheck={false}
          maxLength={2000}
          value={typed}
          onChange={(event) => {
            setTyped(event.currentTarget.value);
          }}
        />
      </div>
      {failure ? (
        <Notice title="That is not possible." detail={failure.message} />
      ) : (
        <LinkContents preview={current ? preview.data : undefined} />
      )}
      <Button
        type="submit"
        className="btn-solid"
        // Nobody gives out what they were not shown.
        disabled={!current || preview.data === undefined || make.isPending}
      >
        <Icon name="link" className="i-s" /> Create the link
      </Button>
    </form>
  );
}

interface MadeProps {
  readonly address: string;
  readonly until: string;
  readonly onAnother: () => void;
}

/** The address is shown this once. */
function Made({ address, until, onAnother }: MadeProps) {
  const field = useRef<HTMLInputElement>(null);
  const [said, say] = useState("");
  return (
    <div className="made">
      <p>
        <b>Here is the link.</b> It is shown only once; anyone who has it can read this session until{" "}
        {formatDate(until)}, or until you revoke it.
      </p>
      <div className="copy">
        <input
          ref={field}
          type="text"
          readOnly
          aria-label="The link’s address"
          value={address}
          onFocus={(event) => {
            event.currentTarget.select();
          }}
        />
        <Button
          className="btn-solid"
          onClick={() => {
            void copyText(address).then((done) => {
              say(done ? "Copied" : "The browser did not allow copying: select it and copy it yourself.");
              if (!done) field.current?.focus();
            });
          }}
        >
          <Icon name="copy" className="i-s" /> Copy
        </Button>
      </div>
      <p className="meta" role="status">
        {said}
      </p>
      <Button className="btn-s btn-bare" onClick={onAnother}>
        Create another one
      </Button>
    </div>
  );
}
