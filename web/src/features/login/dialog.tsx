/** Logging in again over a page that stays as it is: what was typed is still there afterwards. */

import "@/styles/login.css";

import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";

import { meQuery } from "@/api/me";

import { LoginForm } from "./form";

export function LoginDialog() {
  const dialog = useRef<HTMLDialogElement>(null);
  const client = useQueryClient();
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  useEffect(() => {
    // Whoever comes back from a provider's tab has logged in there.
    const look = () => {
      if (!document.hidden) void client.invalidateQueries({ queryKey: meQuery().queryKey });
    };
    document.addEventListener("visibilitychange", look);
    window.addEventListener("focus", look);
    return () => {
      document.removeEventListener("visibilitychange", look);
      window.removeEventListener("focus", look);
    };
  }, [client]);
  return (
    <dialog
      ref={dialog}
      className="ask relogin"
      aria-labelledby="relogin-title"
      onCancel={(event) => {
        // Behind it nothing can be asked for; there is nothing to go back to.
        event.preventDefault();
      }}
    >
      <h2 id="relogin-title">Log in again</h2>
      <p className="subject">This browser was logged out. What you see and what you typed is still here.</p>
      <LoginForm next="/login/done" stays />
    </dialog>
  );
}

/** Where a provider leads back to in a tab of its own. */
export function LoginElsewhere() {
  return (
    <main id="main" className="none">
      <h1>
        <b>You are logged in.</b>
      </h1>
      <p>Close this tab and continue in the one you came from.</p>
    </main>
  );
}
