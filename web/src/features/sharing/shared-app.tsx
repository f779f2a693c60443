/** All that a stranger with a link sees: one session, as long as the link is good; then nothing of it. */

import "@/styles/sharing.css";

import { useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import { Redirect, Route, Router, Switch } from "wouter";

import { startAgain } from "@/features/shell/start-again";
import { BASE, sessionPath } from "@/lib/routes";
import { Boundary } from "@/ui/boundary";
import { Button } from "@/ui/controls";
import { Notice } from "@/ui/notice";
import { Skeleton } from "@/ui/skeleton";

import { Ended } from "./ended";
import { SharedBanner } from "./shared-banner";
import { useLink } from "./use-link";

const ConversationPage = lazy(() =>
  import("@/features/conversation/page").then((part) => ({ default: part.ConversationPage })).catch(startAgain),
);

export function SharedApp() {
  const client = useQueryClient();
  const { link, ended, failure, retry } = useLink(client);
  if (ended) return <Ended />;
  if (failure) {
    return (
      <main id="main" className="none">
        <Notice title="The link could not be opened." detail={failure.message}>
          <Button onClick={retry}>Try again</Button>
        </Notice>
      </main>
    );
  }
  if (!link) return <Skeleton rows={9} shape="message" />;
  return (
    <Router base={BASE}>
      <a className="skip" href="#main">
        Skip to the content
      </a>
      <SharedBanner link={link} />
      <Boundary
        fallback={(error) => <Notice title="Something went wrong on this page." detail={error.message} />}
      >
        <Suspense fallback={null}>
          <Switch>
            <Route path="/sessions/:session/messages/:message">
              {({ message }) => <ConversationPage session={link.session} message={message} />}
            </Route>
            <Route path="/sessions/:session/agents/:agent">
              {({ agent }) => (
                <ConversationPage key={agent} session={link.session} message={null} agent={agent} />
              )}
            </Route>
            <Route path="/sessions/:session">
              {() => <ConversationPage session={link.session} message={null} />}
            </Route>
            <Route>{() => <Redirect to={sessionPath(link.session)} replace />}</Route>
          </Switch>
        </Suspense>
      </Boundary>
    </Router>
  );
}
