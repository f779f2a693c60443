/** Stands in the place of every page until one is let in; the address stays, so that it leads on to what was wanted. */

import "@/styles/login.css";

import { useEffect } from "react";
import { Redirect, useLocation, useSearch } from "wouter";

import { parseNext } from "@/lib/people-routes";
import { useMe } from "@/state/use-me";
import { Brand } from "@/ui/icons";

import { failureOf } from "./failures";
import { LoginForm } from "./form";

export function LoginPage() {
  const [path] = useLocation();
  const search = useSearch();
  const next = isLogin(path) ? parseNext(search) : `${path}${search === "" ? "" : `?${search}`}`;
  useEffect(() => {
    document.title = "Log in · turnlog";
  }, []);
  return (
    <main id="main" className="login" tabIndex={-1}>
      <div>
        <p className="brand" aria-hidden="true">
          <Brand />
          turnlog
        </p>
        <h1>Log in</h1>
        <p className="lead">
          {next === "/"
            ? "This is a team’s archive."
            : "This is a team’s archive. After logging in you get to the page you wanted."}
        </p>
        <LoginForm next={next} failure={isLogin(path) ? failureOf(search) : null} />
      </div>
    </main>
  );
}

/** The address of the login itself, for somebody who is let in: on to where they wanted to go. */
export function LoginDone() {
  const search = useSearch();
  const me = useMe();
  return me ? <Redirect to={parseNext(search)} replace /> : null;
}

function isLogin(path: string): boolean {
  return path === "/login";
}
