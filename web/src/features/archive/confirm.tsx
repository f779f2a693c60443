/** Asks before something is done, after showing what it would do. */

import { useMutation, useQuery } from "@tanstack/react-query";
import { useEffect, useId, useRef, useState } from "react";
import type { ReactNode } from "react";

import { Button } from "@/ui/controls";
import { Notice } from "@/ui/notice";
import { Skeleton } from "@/ui/skeleton";

interface ConfirmProps<T> {
  readonly title: string;
  /** What it is about. */
  readonly subject: string;
  /** Done with `true`, it only tells what would happen. */
  readonly act: (dryRun: boolean) => Promise<T>;
  readonly queryKey: readonly unknown[];
  readonly verb: string;
  readonly describe: (result: T) => ReactNode;
  /** What has to be typed before, where nothing brings it back. */
  readonly typed?: string;
  /** Nothing would happen: there is nothing to agree to. */
  readonly isIdle?: (result: T) => boolean;
  readonly onDone: (result: T) => void;
  readonly onClose: () => void;
}

export function Confirm<T>(props: ConfirmProps<T>) {
  const { title, subject, act, queryKey, verb, describe, typed, isIdle, onDone, onClose } = props;
  const [word, setWord] = useState("");
  const id = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  const trial = useQuery({ queryKey, queryFn: () => act(true), gcTime: 0, staleTime: 0, retry: false });
  const deed = useMutation({
    mutationFn: () => act(false),
    onSuccess: (result) => {
      onDone(result);
      dialog.current?.close();
    },
  });
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  const error = trial.error ?? deed.error;
  return (
    <dialog ref={dialog} className="ask" aria-labelledby="ask-title" onClose={onClose}>
      <h2 id="ask-title">{title}</h2>
      <p className="clip subject">
        <bdi>{subject}</bdi>
      </p>
      {error && <Notice title="That is not possible." detail={error.message} />}
      {trial.data !== undefined ? (
        <div className="would">{describe(trial.data)}</div>
      ) : (
        !error && <Skeleton rows={2} shape="turn" />
      )}
      {typed !== undefined && (
        <p className="type">
          <label htmlFor={id}>
            Type <b>{typed}</b> to confirm
          </label>
          <input
            id={id}
            type="text"
            autoComplete="off"
            autoCapitalize="off"
            spellCheck={false}
            value={word}
            onChange={(event) => {
              setWord(event.currentTarget.value);
            }}
          />
        </p>
      )}
      <footer>
        <Button onClick={() => dialog.current?.close()}>Cancel</Button>
        <Button
          className="btn-solid"
          disabled={
            trial.data === undefined ||
            deed.isPending ||
            (isIdle?.(trial.data) ?? false) ||
            (typed !== undefined && word.trim().toLowerCase() !== typed)
          }
          onClick={() => {
            deed.mutate();
          }}
        >
          {verb}
        </Button>
      </footer>
    </dialog>
  );
}
