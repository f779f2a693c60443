/** Which part draws which row. */

import { memo } from "react";

import type { ContentRow } from "@/state/flow/rows";
import { Boundary } from "@/ui/boundary";

import { CallRow, MoreRow, StubRow } from "./call";
import {
  BranchRow,
  BrokenRow,
  CompactionRow,
  ErrorRow,
  HooksRow,
  MarkRow,
  NotesRow,
  SummaryRow,
  SystemRow,
  TurnEndRow,
  UnknownRow,
} from "./marks";
import { ImageRow, PromptRow, TextRow, ThinkingRow } from "./prose";

/** A row that cannot be drawn says so; its neighbours stay. */
export const RowContent = memo(function RowContent({ row }: { readonly row: ContentRow }) {
  return (
    <Boundary fallback={(error) => <BrokenRow row={row} message={error.message} />}>
      <Drawn row={row} />
    </Boundary>
  );
});

function Drawn({ row }: { readonly row: ContentRow }) {
  switch (row.kind) {
    case "prompt":
      return <PromptRow row={row} />;
    case "text":
      return <TextRow row={row} />;
    case "thinking":
      return <ThinkingRow row={row} />;
    case "call":
      return <CallRow row={row} />;
    case "more":
      return <MoreRow row={row} />;
    case "stub":
      return <StubRow row={row} />;
    case "image":
      return <ImageRow row={row} />;
    case "unknown":
      return <UnknownRow row={row} />;
    case "hooks":
      return <HooksRow row={row} />;
    case "notes":
      return <NotesRow row={row} />;
    case "mark":
      return <MarkRow row={row} />;
    case "compaction":
      return <CompactionRow row={row} />;
    case "summary":
      return <SummaryRow row={row} />;
    case "error":
      return <ErrorRow row={row} />;
    case "system":
      return <SystemRow row={row} />;
    case "branch":
      return <BranchRow row={row} />;
    case "turn-end":
      return <TurnEndRow row={row} />;
  }
}
