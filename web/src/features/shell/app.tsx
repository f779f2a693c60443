/** All places of the page, and what stands around them. */

import { lazy, Suspense, useEffect } from "react";
import { Route, Switch } from "wouter";

import { useAccess } from "@/features/login/use-access";
import { WaitToast } from "@/features/mission-control/toast";
import { Boundary } from "@/ui/boundary";
import { Notice } from "@/ui/notice";

import { ConnectionBanner } from "./connection-banner";
import { DemoBanner } from "./demo-banner";
import { Help } from "./help";
import { KeyLine } from "./key-line";
import { NotFound } from "./not-found";
import { Home } from "./home";
import { PAGES } from "./pages";
import { useShellKeys } from "./shell-keys";
import { startAgain } from "./start-again";
import { TabBar } from "./tab-bar";
import { TopBar } from "./top-bar";

const loadConversation = () =>
  import("@/features/conversation/page").then((module) => ({ default: module.ConversationPage }));
const ConversationPage = lazy(() => loadConversation().catch(startAgain));
const loadPalette = () => import("./palette/palette").then((module) => ({ default: module.Palette }));
const Palette = lazy(() => loadPalette().catch(startAgain));

const loadLogin = () => import("@/features/login/page");
const LoginPage = lazy(() =>
  loadLogin()
    .then((part) => ({ default: part.LoginPage }))
    .catch(startAgain),
);
const LoginDone = lazy(() =>
  loadLogin()
    .then((part) => ({ default: part.LoginDone }))
    .catch(startAgain),
);
const loadAgain = () => import("@/features/login/dialog");
const LoginDialog = lazy(() =>
  loadAgain()
    .then((part) => ({ default: part.LoginDialog }))
    .catch(startAgain),
);
const LoginElsewhere = lazy(() =>
  loadAgain()
    .then((part) => ({ default: part.LoginElsewhere }))
    .catch(startAgain),
);

export function App() {
  const access = useAccess();
  if (access === "out")
    return (
      <Suspense fallback={null}>
        <LoginPage />
      </Suspense>
    );
  return <Shell ended={access === "ended"} />;
}

function Shell({ ended }: { readonly ended: boolean }) {
  const { open, setOpen, close } = useShellKeys();
  useEffect(() => {
    // They are asked for next, most likely; and then the server may be gone.
    loadConversation().catch(() => null);
    loadPalette().catch(() => null);
  }, []);
  return (
    <>
      <a className="skip" href="#main">
        Skip to the content
      </a>
      <TopBar
        onJump={() => {
          setOpen("palette");
        }}
      />
      <DemoBanner />
      <Boundary fallback={(error) => <Broken message={error.message} />}>
        <Suspense fallback={null}>
          <Switch>
            <Route path="/">
              <Home />
            </Route>
            {PAGES.map((page) => (
              <Route key={page.path} path={page.route ?? page.path} component={page.show} />
            ))}
            <Route path="/sessions/:session/messages/:message">
              {({ session, message }) => <ConversationPage key={session} session={session} message={message} />}
            </Route>
            <Route path="/sessions/:session/agents/:agent">
              {({ session, agent }) => (
                <ConversationPage key={`${session} ${agent}`} session={session} message={null} agent={agent} />
              )}
            </Route>
            <Route path="/sessions/:session">
              {({ session }) => <ConversationPage key={session} session={session} message={null} />}
            </Route>
            <Route path="/login" component={LoginDone} />
            <Route path="/login/done" component={LoginElsewhere} />
            <Route component={NotFound} />
          </Switch>
        </Suspense>
      </Boundary>
      <KeyLine />
      <TabBar
        onMore={() => {
          setOpen("palette");
        }}
      />
      <Help open={open === "help"} onClose={close} />
      {open === "palette" && (
        <Suspense fallback={null}>
          <Palette onClose={close} />
        </Suspense>
      )}
      {ended && (
        <Suspense fallback={null}>
          <LoginDialog />
        </Suspense>
      )}
      <WaitToast />
      <ConnectionBanner />
    </>
  );
}

function Broken({ message }: { readonly message: string }) {
  return (
    <main id="main" className="none">
      <Notice title="Something went wrong on this page." detail={message}>
        <button
          type="button"
          onClick={() => {
            window.location.reload();
          }}
        >
          Reload
        </button>
      </Notice>
    </main>
  );
}
