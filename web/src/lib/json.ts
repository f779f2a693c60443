/** Looking into JSON of any shape without trusting it. */

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function fieldOf(value: unknown, name: string): unknown {
  return isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

export function textOf(value: unknown, name: string): string | null {
  const field = fieldOf(value, name);
  return typeof field === "string" ? field : null;
}

export function numberOf(value: unknown, name: string): number | null {
  const field = fieldOf(value, name);
  return typeof field === "number" && Number.isFinite(field) ? field : null;
}

export function listOf(value: unknown, name: string): readonly unknown[] {
  const field = fieldOf(value, name);
  return Array.isArray(field) ? field : [];
}

/** As people read it: indented, strings as they are. */
export function printJson(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}
