/** What lets a user in, and their machines push; ended ones are folded away. */

import { useMutation, useQuery } from "@tanstack/react-query";
import { useRef, useState } from "react";

import type { Me } from "@/api/me";
import { isGood, revokeToken, tokensQuery } from "@/api/people";
import type { Token, User } from "@/api/people";
import { formatCounted, formatDate, formatMoment } from "@/lib/format";
import { showControls } from "@/lib/visible";
import { Button } from "@/ui/controls";
import { Dialog } from "@/ui/dialog";
import { Icon } from "@/ui/icons";
import { Notice } from "@/ui/notice";
import { Skeleton } from "@/ui/skeleton";

import { NewTokenDialog } from "./new-token";

interface TokensProps {
  readonly user: User;
  readonly me: Me;
  readonly onDone: (said: string) => void;
}

export function Tokens({ user, me, onDone }: TokensProps) {
  const { data, error } = useQuery(tokensQuery(user.name));
  const [makes, setMakes] = useState(false);
  const [revoked, setRevoked] = useState<Token | null>(null);
  const good = data?.filter((token) => isGood(token)) ?? [];
  const ended = data?.filter((token) => !isGood(token)) ?? [];
  return (
    <section className="pe-tokens" aria-label={`Tokens of ${user.name}`}>
      <header>
        <h3>Tokens</h3>
        {!user.disabled && me.may_write && (
          <Button
            className="btn-s"
            onClick={() => {
              setMakes(true);
            }}
          >
            New token…
          </Button>
        )}
      </header>
      {error && <Notice title="The tokens could not be listed." detail={error.message} />}
      {!data && !error && <Skeleton rows={2} shape="turn" />}
      {data && good.length === 0 && (
        <p className="quiet">No valid tokens. Without one, {user.name} can log in only through a provider.</p>
      )}
      <ul>
        {good.map((token) => (
          <TokenRow key={token.id} token={token} onRevoke={setRevoked} />
        ))}
      </ul>
      {ended.length > 0 && (
        <details className="ended">
          <summary>
            <Icon name="right" className="chev" />
            {formatCounted(ended.length, "old token")}
          </summary>
          <ul>
            {ended.map((token) => (
              <TokenRow key={token.id} token={token} />
            ))}
          </ul>
        </details>
      )}
      {makes && (
        <NewTokenDialog
          user={user}
          onDone={onDone}
          onClose={() => {
            setMakes(false);
          }}
        />
      )}
      {revoked && (
        <RevokeDialog
          token={revoked}
          onDone={onDone}
          onClose={() => {
            setRevoked(null);
          }}
        />
      )}
    </section>
  );
}

interface TokenRowProps {
  readonly token: Token;
  readonly onRevoke?: (token: Token) => void;
}

function TokenRow({ token, onRevoke }: TokenRowProps) {
  return (
    <li className="pe-token">
      <span className="clip">
        <bdi>{showControls(token.label)}</bdi>
      </span>
      <span className="meta">{token.kind}</span>
      <span className="meta clip" title={describeUse(token)}>
        {token.revoked_at !== null
          ? `revoked ${formatDate(token.revoked_at)}`
          : token.expires_at !== null
            ? `${isGood(token) ? "until" : "expired"} ${formatDate(token.expires_at)}`
            : token.used_at === null
              ? "not used yet"
              : `used ${formatDate(token.used_at)}`}
      </span>
      {onRevoke && (
        <Button
          className="btn-s btn-bare"
          aria-label={`Revoke ${token.label}`}
          onClick={() => {
            onRevoke(token);
          }}
        >
          Revoke…
        </Button>
      )}
    </li>
  );
}

function describeUse(token: Token): string {
  const made = `Created ${formatMoment(token.created_at)}`;
  return token.used_at === null ? `${made}; not used yet` : `${made}; last used ${formatMoment(token.used_at)}`;
}

interface RevokeDialogProps {
  readonly token: Token;
  readonly onDone: (said: string) => void;
  readonly onClose: () => void;
}

function RevokeDialog({ token, onDone, onClose }: RevokeDialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const close = () => dialog.current?.close();
  const revoking = useMutation({ mutationFn: () => revokeToken(token.id) });
  return (
    <Dialog dialog={dialog} title="Revoke this token?" subject={showControls(token.label)} onClose={onClose}>
      <>
        <div className="would">
          <p>
            {token.kind === "machine"
              ? "The machine that uses it can no longer push. What it has pushed stays."
              : "It can no longer be used to log in. Browsers that logged in with it are logged out."}
          </p>
        </div>
        {revoking.error && <Notice title="The token was not revoked." detail={revoking.error.message} />}
        <footer>
          <Button onClick={close}>Cancel</Button>
          <Button
            className="btn-solid"
            disabled={revoking.isPending}
            onClick={() => {
              revoking.mutate(undefined, {
                onSuccess: () => {
                  onDone(`“${token.label}” was revoked.`);
                  close();
                },
              });
            }}
          >
            Revoke
          </Button>
        </footer>
      </>
    </Dialog>
  );
}
