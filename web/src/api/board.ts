/** Mission control: who works, who needs you, and who is done. */

import { queryOptions } from "@tanstack/react-query";

import { noteServerTime } from "@/lib/clock";

import { request } from "./client";
import type { BoardSpan, MissionControl, Notifications, TestedNotifications } from "./types";

export type { BoardCard, BoardSpan, Notifications, StripBar } from "./types";

export type Board = MissionControl;
export type BoardInterval = BoardSpan["intervals"][number];
export type Sent = TestedNotifications["sent"][number];

const BOARD_EVERY_MS = 30_000;

/** Asked again when the stream tells of a change; now and then anyway, since programs end without a word. */
export const boardQuery = () =>
  queryOptions({
    queryKey: ["mission-control"],
    queryFn: async ({ signal }) => {
      const board = await request<Board>("/api/mission-control", signal);
      noteServerTime(board.at);
      return board;
    },
    refetchInterval: BOARD_EVERY_MS,
  });

export const notificationsQuery = () =>
  queryOptions({
    queryKey: ["notifications"],
    queryFn: ({ signal }) => request<Notifications>("/api/notifications", signal),
  });

/** Sends a test to every target that config.toml names. */
export async function testNotifications(): Promise<readonly Sent[]> {
  const answer = await request<TestedNotifications>("/api/notifications/test", undefined, {
    method: "POST",
  });
  return answer.sent;
}
