/** The pages there are, in the order of the top bar. A page that is added here gets its place and its key. */

export interface Page {
  readonly path: string;
  readonly name: string;
  /** With `g` before it. */
  readonly key: string;
}

export const PAGES: readonly Page[] = [{ path: "/sessions", name: "Sessions", key: "s" }];
