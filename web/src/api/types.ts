/** The API's shapes by the names the page uses; `schema.ts` is generated from the server's own types. */

import type { components } from "./schema";

type Schemas = components["schemas"];

export type Call = Schemas["Call"];
export type CallPage = Schemas["CallPage"];
export type CallResult = Schemas["CallResult"];
export type ErrorDocument = Schemas["ErrorDocument"];
export type Image = Schemas["Image"];
export type Marks = Schemas["Marks"];
export type Message = Schemas["Message"];
export type MessageWindow = Schemas["MessageWindow"];
export type Project = Schemas["Project"];
export type Projects = Schemas["Projects"];
export type SessionDetail = Schemas["SessionDetail"];
export type SessionItem = Schemas["SessionItem"];
export type SessionPage = Schemas["SessionPage"];
export type Status = Schemas["Status"];
export type Turn = Schemas["Turn"];
export type Turns = Schemas["Turns"];

export type Block = Message["blocks"][number];
