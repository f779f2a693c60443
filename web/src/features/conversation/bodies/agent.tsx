/** A sub-agent, opened in the call that started it: the same parts inside, behind a rule for each level. */

import { useInfiniteQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState } from "react";
import { Link } from "wouter";

import { agentFlowQuery } from "@/api/conversation";
import type { Agent, Call, HookItem, Message } from "@/api/types";
import { formatCounted, formatMoney, formatTokens } from "@/lib/format";
import { modelName } from "@/lib/names";
import { agentPath } from "@/lib/routes";
import { showControls } from "@/lib/visible";
import { usePart, useStore } from "@/state/binding";
import { buildRows } from "@/state/flow/rows";
import { spaceBefore } from "@/state/flow/spacing";
import { level } from "@/state/settings";
import { Icon } from "@/ui/icons";
import { Notice } from "@/ui/notice";
import { Skeleton } from "@/ui/skeleton";

import { DepthProvider, useConversation, useDepth } from "../context";
import { RowContent } from "../rows";

/** Deeper ones are not indented further. */
const DEEPEST = 3;

export function AgentBody({ call, id }: { readonly call: Call; readonly id: string }) {
  const { agents } = useConversation();
  const depth = useDepth();
  const agent = agents.get(id);
  return (
    <section
      className={depth < DEEPEST ? "nest" : "nest flat"}
      aria-label={`Sub-agent ${showControls(agent?.type ?? id)}`}
    >
      <DepthProvider value={depth + 1}>
        <AgentFlow id={id} agent={agent} call={call} />
      </DepthProvider>
    </section>
  );
}

interface AgentFlowProps {
  readonly id: string;
  readonly agent: Agent | undefined;
  readonly call: Call;
}

function AgentFlow({ id, agent, call }: AgentFlowProps) {
  const { session, runs, landing, bring } = useConversation();
  const wanted = usePart(landing, (to) => (to?.agent === id ? to.message : null));
  // Where it was begun to be read: its beginning, or a message that somebody wanted to see.
  const [around, setAround] = useState(wanted);
  // Somebody wants to see another message, which may be far from those that are here.
  const [asked, setAsked] = useState(wanted);
  if (wanted !== null && wanted !== asked) {
    setAsked(wanted);
    setAround(wanted);
  }
  const query = useInfiniteQuery(agentFlowQuery(session, id, around));
  const shown = useStore(level);
  const openRuns = useStore(runs);
  const pages = query.data?.pages;
  const messages = useMemo(() => joinPages(pages?.map((page) => page.items) ?? []), [pages]);
  const rows = useMemo(() => {
    const hooks = new Map<number, HookItem[]>();
    for (const hook of pages?.flatMap((page) => page.hooks ?? []) ?? []) {
      if (hook.message !== null) hooks.set(hook.message, [...(hooks.get(hook.message) ?? []), hook]);
    }
    return buildRows([stretchOf(messages)], {
      level: shown,
      turns: [],
      openRuns,
      hooks,
      scope: `${id}:`,
      asked,
    });
  }, [messages, pages, shown, openRuns, id, asked]);
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (wanted === null) return;
    const element = list.current?.querySelector<HTMLElement>(`[data-message="${wanted}"]`);
    if (!element) return;
    bring(element);
    landing.set(null);
  }, [wanted, rows, bring, landing]);

  if (query.isPending) return <Skeleton rows={3} shape="message" />;
  if (query.isError) return <Notice title="This sub-agent could not be loaded." detail={query.error.message} />;
  return (
    <>
      <AgentHead
        id={id}
        agent={agent}
        messages={messages}
        whole={!query.hasNextPage && !query.hasPreviousPage}
      />
      <div ref={list}>
        {query.hasPreviousPage && (
          <More text="Show earlier messages" onShow={() => void query.fetchPreviousPage()} />
        )}
        {rows.map((row, at) =>
          row.kind === "gap" ? null : (
            <div
              key={row.key}
              data-nested={row.key}
              data-message={row.index}
              className={`n-row gap-${spaceBefore(row, rows[at - 1])}`}
            >
              <RowContent row={row} />
            </div>
          ),
        )}
        {rows.length === 0 && <p className="meta n-none">{nothing(call)}</p>}
        {query.hasNextPage && <More text="Show later messages" onShow={() => void query.fetchNextPage()} />}
      </div>
    </>
  );
}

function nothing(call: Call): string {
  return call.state === "resolved"
    ? "The archive has only its answer, not what it did."
    : "It has not said anything yet.";
}

function joinPages(pages: readonly (readonly Message[])[]): readonly Message[] {
  const byIndex = new Map(pages.flat().map((message) => [message.index, message]));
  return [...byIndex.values()].sort((a, b) => a.index - b.index);
}

function stretchOf(messages: readonly Message[]) {
  return {
    kind: "stretch" as const,
    first: messages[0]?.index ?? 0,
    last: messages.at(-1)?.index ?? 0,
    messages,
    before: null,
    after: null,
  };
}

interface HeadProps {
  readonly id: string;
  readonly agent: Agent | undefined;
  readonly messages: readonly Message[];
  /** Whether all of its messages are here, so that sums are right. */
  readonly whole: boolean;
}

function AgentHead({ id, agent, messages, whole }: HeadProps) {
  const { session } = useConversation();
  const model = messages.find((message) => message.model !== null)?.model ?? null;
  const input = sum(messages, ({ usage }) =>
    usage ? usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens : 0,
  );
  const output = sum(messages, ({ usage }) => usage?.output_tokens ?? 0);
  const cost = sum(messages, (message) => message.cost_usd ?? 0);
  return (
    <div className="nhd">
      <b>{showControls(agent?.type ?? "Sub-agent")}</b>
      <span className="dot-sep">
        {model !== null && <span>{modelName(model)}</span>}
        {whole && input + output > 0 ? (
          <span>
            {formatTokens(input)} in, {formatTokens(output)} out
          </span>
        ) : (
          <span>{formatCounted(messages.length, "message")}</span>
        )}
        {whole && cost > 0 && <span>{formatMoney(cost)}</span>}
        {agent?.background && <span>in the background</span>}
      </span>
      <span className="grow" />
      {agent && (
        <Link className="btn btn-s btn-bare" href={agentPath(session, id)}>
          Open alone <Icon name="ext" />
        </Link>
      )}
    </div>
  );
}

function sum(messages: readonly Message[], of: (message: Message) => number): number {
  return messages.reduce((total, message) => total + of(message), 0);
}

function More({ text, onShow }: { readonly text: string; readonly onShow: () => void }) {
  return (
    <button type="button" className="more-calls" onClick={onShow}>
      <span className="g">
        <Icon name="more" />
      </span>
      <span>{text}</span>
    </button>
  );
}
