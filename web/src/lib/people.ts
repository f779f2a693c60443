/** How people are spoken of. */

export const ROLES = {
  admin: ["Admin", "sees everything, which is recorded, and manages people, rules and the archive"],
  member: ["Member", "has sessions, and sees what others share"],
  viewer: ["Viewer", "sees what others share, and changes nothing"],
} as const;

export type RoleName = keyof typeof ROLES;

const NAME = /^[a-z][a-z0-9._-]*$/;
const LONGEST_NAME = 64;

/** What is wrong with a name for a new user; null: nothing that can be told here. */
export function misnamed(name: string): string | null {
  if (name === "") return "Enter a user name.";
  if (name.length > LONGEST_NAME) return `A name has at most ${LONGEST_NAME} characters.`;
  return NAME.test(name)
    ? null
    : "A name has lower-case letters, digits, dots, dashes and underscores, and begins with a letter.";
}

/** `Ben Okri (ben)`, or `ben` alone. */
export function fullNameOf(user: { readonly name: string; readonly full_name: string }): string {
  return user.full_name === "" ? user.name : `${user.full_name} (${user.name})`;
}

/** `laptop (ben)` of a machine; one without any name goes by the beginning of its id. */
export function machineName(machine: {
  readonly origin: string;
  readonly host: string;
  readonly user: string;
}): string {
  const host = machine.host === "" ? machine.origin.slice(0, 8) : machine.host;
  return machine.user === "" ? host : `${host} (${machine.user})`;
}
