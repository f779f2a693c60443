/** What opens over a conversation. */

import { lazy, Suspense } from "react";
import { useLocation } from "wouter";

import type { SessionDetail } from "@/api/types";

import { RawDialog } from "./raw";
import type { PageState } from "./use-page";

const ExportDialog = lazy(() =>
  import("@/features/exporting/dialog").then((part) => ({ default: part.ExportDialog })),
);
const ShareDialog = lazy(() =>
  import("@/features/sharing/dialog").then((part) => ({ default: part.ShareDialog })),
);
const DeleteDialog = lazy(() =>
  import("@/features/sharing/delete").then((part) => ({ default: part.DeleteDialog })),
);

interface DialogsProps {
  readonly page: PageState;
}

export function Dialogs({ page }: DialogsProps) {
  const { session, detail, conversation, raw, announce } = page;
  return (
    <>
      {raw && (
        <RawDialog
          session={session}
          message={raw}
          announce={announce}
          onClose={() => {
            page.setRaw(null);
          }}
        />
      )}
      {page.exporting && detail.data && (
        <Suspense fallback={null}>
          <ExportDialog
            sessions={[{ key: detail.data.session.key, name: nameOf(detail.data) }]}
            turns={page.turns.length}
            branches={conversation.branches}
            onDone={announce}
            onClose={() => {
              page.setExporting(false);
            }}
          />
        </Suspense>
      )}
      {detail.data && <Sharing page={page} detail={detail.data} />}
    </>
  );
}

/** Who sees it, and deleting it: one after the other, never both. */
function Sharing({ page, detail }: DialogsProps & { readonly detail: SessionDetail }) {
  const { sharing, setSharing } = page;
  const [, navigate] = useLocation();
  const close = () => {
    setSharing(null);
  };
  const subject = { session: detail.session.key, title: nameOf(detail) };
  return (
    <Suspense fallback={null}>
      {sharing === "share" && (
        <ShareDialog
          {...subject}
          onClose={close}
          onDelete={() => {
            setSharing("delete");
          }}
        />
      )}
      {sharing === "delete" && (
        <DeleteDialog
          {...subject}
          onClose={close}
          onDone={() => {
            navigate("/sessions");
          }}
        />
      )}
    </Suspense>
  );
}

function nameOf({ session }: SessionDetail): string {
  return session.title ?? session.first_prompt ?? session.session_id;
}
