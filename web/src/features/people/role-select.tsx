import type { Role } from "@/api/people";
import { ROLES } from "@/lib/people";

interface RoleSelectProps {
  readonly ties: { readonly id: string; readonly "aria-describedby": string };
  readonly value: Role;
  readonly onChange: (role: Role) => void;
}

export function RoleSelect({ ties, value, onChange }: RoleSelectProps) {
  return (
    <select
      {...ties}
      value={value}
      onChange={(event) => {
        onChange(event.currentTarget.value as Role);
      }}
    >
      {Object.entries(ROLES).map(([role, [name]]) => (
        <option key={role} value={role}>
          {name}
        </option>
      ))}
    </select>
  );
}
