/** All places of the page, and what stands around them. */

import { lazy, Suspense, useEffect } from "react";
import { Redirect, Route, Switch } from "wouter";

import { SessionsPage } from "@/features/sessions/page";

import { ConnectionBanner } from "./connection-banner";
import { Boundary } from "@/ui/boundary";
import { Notice } from "@/ui/notice";
import { startAgain } from "./start-again";
import { Help } from "./help";
import { KeyLine } from "./key-line";
import { NotFound } from "./not-found";
import { TopBar } from "./top-bar";
import { useShellKeys } from "./shell-keys";

const loadConversation = () =>
  import("@/features/conversation/page").then((module) => ({ default: module.ConversationPage }));
const ConversationPage = lazy(() => loadConversation().catch(startAgain));

export function App() {
  const { helpOpen, closeHelp } = useShellKeys();
  useEffect(() => {
    // It is asked for next, most likely; and then the server may be gone.
    loadConversation().catch(() => null);
  }, []);
  return (
    <>
      <a className="skip" href="#main">
        Skip to the content
      </a>
      <TopBar />
      <Boundary fallback={(error) => <Broken message={error.message} />}>
        <Suspense fallback={null}>
          <Switch>
            <Route path="/">
              <Redirect to="/sessions" replace />
            </Route>
            <Route path="/sessions" component={SessionsPage} />
            <Route path="/sessions/:session/messages/:message">
              {({ session, message }) => <ConversationPage key={session} session={session} message={message} />}
            </Route>
            <Route path="/sessions/:session">
              {({ session }) => <ConversationPage key={session} session={session} message={null} />}
            </Route>
            <Route component={NotFound} />
          </Switch>
        </Suspense>
      </Boundary>
      <KeyLine />
      <Help open={helpOpen} onClose={closeHelp} />
      <ConnectionBanner />
    </>
  );
}

function Broken({ message }: { readonly message: string }) {
  return (
    <main id="main" className="none">
      <Notice title="This page broke." detail={message}>
        <button
          type="button"
          onClick={() => {
            window.location.reload();
          }}
        >
          Load it again
        </button>
      </Notice>
    </main>
  );
}
