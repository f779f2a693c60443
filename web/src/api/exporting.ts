/** Sessions as files. */

import { queryOptions } from "@tanstack/react-query";

import { request, send } from "./client";
import { noteAnswer } from "./connection";
import { readError, ServerGoneError } from "./errors";
import type { ExportPreview } from "./types";

export type { ExportPreview } from "./types";

/** What an export would be, and what it would take out. It reads all of the sessions. */
export const previewQuery = (query: string) =>
  queryOptions({
    queryKey: ["export-preview", query],
    queryFn: ({ signal }) => request<ExportPreview>(`/api/export/preview?${query}`, signal),
    staleTime: 60_000,
    retry: false,
  });

/** The whole file, or none: what breaks off on its way is an error. */
export async function fetchExport(
  query: string,
  onProgress: (bytes: number) => void,
  signal: AbortSignal,
): Promise<Blob> {
  const response = await send(`/api/export?${query}`, signal, {});
  noteAnswer(response.status);
  if (!response.ok || !response.body) throw await readError(response);
  const pieces: BlobPart[] = [];
  let bytes = 0;
  try {
    const reader = response.body.getReader();
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      pieces.push(next.value);
      bytes += next.value.length;
      onProgress(bytes);
    }
  } catch (error) {
    if (signal.aborted) throw error;
    throw new ServerGoneError(error);
  }
  return new Blob(pieces, { type: response.headers.get("content-type") ?? "application/octet-stream" });
}
