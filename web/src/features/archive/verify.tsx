/** Checks the archive: everything is derived again from the bytes, and compared. */

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useMemo } from "react";

import { startVerify } from "@/api/archive";
import type { VerifyJob } from "@/api/archive";
import { formatClock, formatCount, formatCounted, formatDate } from "@/lib/format";
import { showControls } from "@/lib/visible";
import { useKeys } from "@/state/use-keys";
import { Button } from "@/ui/controls";
import { Notice } from "@/ui/notice";

export function Verify({ job }: { readonly job: VerifyJob | null }) {
  const client = useQueryClient();
  const start = useMutation({
    mutationFn: startVerify,
    onSettled: () => client.invalidateQueries({ queryKey: ["archive"] }),
  });
  const running = job?.state === "running";
  const { mutate } = start;
  useKeys(
    useMemo(
      () => [
        {
          keys: "v",
          label: "check everything",
          hinted: true,
          run: () => {
            mutate();
          },
        },
      ],
      [mutate],
    ),
  );
  return (
    <section className="fig" aria-labelledby="verify-title">
      <header>
        <h2 id="verify-title">Check</h2>
        <span className="grow" />
        <Button
          className="btn-s"
          disabled={running || start.isPending}
          onClick={() => {
            mutate();
          }}
        >
          {running ? "Checking" : "Check everything"}
        </Button>
      </header>
      <p className="quiet">
        Every session is read from the archived bytes and derived again; any differences are listed here.
      </p>
      {start.isError && <Notice title="The check did not start." detail={start.error.message} />}
      {job && <Job job={job} />}
    </section>
  );
}

function Job({ job }: { readonly job: VerifyJob }) {
  return (
    <>
      {job.state === "running" && (
        <>
          <progress
            className="meterbar"
            aria-label="Sessions checked"
            value={job.done}
            max={Math.max(1, job.total)}
          />
          <p className="meta">
            {formatCount(job.done)} of {formatCounted(job.total, "session")}
          </p>
        </>
      )}
      <p role="status" className="verdict">
        {job.state === "clean" && (
          <>
            <span className="st st-done" aria-hidden="true" /> Everything is as it should be
            {job.ended_at != null && `, on ${formatDate(job.ended_at)} at ${formatClock(job.ended_at)}`}.
          </>
        )}
        {job.state === "found" && (
          <span className="fail">
            <span className="st st-fail" aria-hidden="true" /> {formatCounted(job.found, "difference")} found.
            Run <code>turnlog verify --repair</code>.
          </span>
        )}
        {job.state === "failed" && (
          <span className="fail">
            <span className="st st-fail" aria-hidden="true" /> The check stopped early:{" "}
            {job.message ?? "no reason was given"}
          </span>
        )}
      </p>
      {job.findings.length > 0 && (
        <ul className="findings">
          {job.findings.map((finding, at) => (
            <li key={at}>
              <code className="clip">{showControls(finding.path ?? finding.session ?? "the archive")}</code>
              <span>{showControls(finding.message)}</span>
            </li>
          ))}
          {job.found > job.findings.length && (
            <li className="quiet">and {formatCount(job.found - job.findings.length)} more</li>
          )}
        </ul>
      )}
    </>
  );
}
