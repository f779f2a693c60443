/** What can go wrong between the page and its server, each with a way on. */

import type { ErrorDetail, ErrorDocument } from "./types";

/** The server answered, and said no. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    /** What is wrong, each with its place. */
    readonly details: readonly ErrorDetail[] = [],
  ) {
    super(message);
    this.name = "ApiError";
  }
}

/** No answer came: the server is not there, or not yet again. */
export class ServerGoneError extends Error {
  constructor(cause: unknown) {
    super("The server is not responding.", { cause });
    this.name = "ServerGoneError";
  }
}

/** Reads the server's one error shape; an answer in another form is told by its status. */
export async function readError(response: Response): Promise<ApiError> {
  try {
    const { error } = (await response.json()) as ErrorDocument;
    return new ApiError(response.status, error.code, error.message, error.details);
  } catch {
    return new ApiError(response.status, "unknown", `The server responded with ${response.status}.`);
  }
}
