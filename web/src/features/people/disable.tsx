/** Lets somebody in no longer, after saying what ends with that. */

import { disableUser, listEnding } from "@/api/people";
import type { Ending, User } from "@/api/people";
import { Confirm } from "@/features/archive/confirm";
import { formatCounted } from "@/lib/format";
import { fullNameOf } from "@/lib/people";
import { showControls } from "@/lib/visible";

interface DisableDialogProps {
  readonly user: User;
  readonly onDone: (said: string) => void;
  readonly onClose: () => void;
}

export function DisableDialog({ user, onDone, onClose }: DisableDialogProps) {
  return (
    <Confirm<Ending>
      title={`Disable ${user.name}?`}
      subject={showControls(fullNameOf(user))}
      queryKey={["disable", user.name]}
      act={async (dryRun) => {
        const ending = await listEnding(user.name);
        if (!dryRun) await disableUser(user.name);
        return ending;
      }}
      verb="Disable"
      onClose={onClose}
      onDone={() => {
        onDone(`${user.name} has been disabled.`);
      }}
      describe={({ personal, machine, links }) => (
        <>
          <p>They are logged out everywhere at once. This also ends:</p>
          <ul className="ends">
            <li>{formatCounted(personal, "personal token")}</li>
            <li>
              {formatCounted(machine, "machine token")}
              {machine > 0 && ": these machines can no longer push"}
            </li>
            <li>
              {formatCounted(links, "link")} that they created
              {links > 0 && ": these no longer show anything"}
            </li>
          </ul>
          <p>
            Their sessions stay, and are shared as before. Enabling the account again does not bring back tokens
            or links.
          </p>
        </>
      )}
    />
  );
}
