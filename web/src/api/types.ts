/** The API's shapes by the names the page uses; `schema.ts` is generated from the server's own types. */

import type { components } from "./schema";

type Schemas = components["schemas"];

export type Action = ActionPage["items"][number];
export type ActionPage = Schemas["ActionPage"];
export type ActionSpan = Schemas["ActionSpan"];
export type BoardCard = Schemas["BoardCard"];
export type BoardSpan = Schemas["BoardSpan"];
export type MissionControl = Schemas["MissionControl"];
export type Notifications = Schemas["Notifications"];
export type Agent = Schemas["Agent"];
export type Agents = Schemas["Agents"];
export type Branch = Schemas["Branch"];
export type ChangeKind = Schemas["ChangeKind"];
export type Call = Schemas["Call"];
export type CallPage = Schemas["CallPage"];
export type CallResult = Schemas["CallResult"];
export type ErrorDetail = Schemas["ErrorDetail"];
export type ErrorDocument = Schemas["ErrorDocument"];
export type ExportPreview = Schemas["ExportPreview"];
export type Hit = Schemas["Hit"];
export type Hits = Schemas["Hits"];
export type HookCommand = Schemas["HookCommand"];
export type HookItem = Schemas["HookItem"];
export type NoteItem = Schemas["NoteItem"];
export type Image = Schemas["Image"];
export type Marks = Schemas["Marks"];
export type Message = Schemas["Message"];
export type MessageWindow = Schemas["MessageWindow"];
export type Problems = Schemas["Problems"];
export type Project = Schemas["Project"];
export type Projects = Schemas["Projects"];
export type SessionDetail = Schemas["SessionDetail"];
export type SessionItem = Schemas["SessionItem"];
export type SessionState = NonNullable<SessionItem["state"]>;
export type SessionPage = Schemas["SessionPage"];
export type Status = Schemas["Status"];
export type SessionFacets = Schemas["SessionFacets"];
export type Sidechain = Schemas["Sidechain"];
export type Sidechains = Schemas["Sidechains"];
export type StripBar = Schemas["CallBar"];
export type TestedNotifications = Schemas["TestedNotifications"];
export type TimelineWindow = Schemas["TimelineWindow"];
export type Tree = Schemas["Tree"];
export type Turn = Schemas["Turn"];
export type Turns = Schemas["Turns"];

export type UsageReport = Schemas["UsageReport"];
export type UsageRow = Schemas["UsageRow"];

export type Block = Message["blocks"][number];
