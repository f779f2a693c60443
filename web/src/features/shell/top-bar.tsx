import { useQuery } from "@tanstack/react-query";
import { Link, useLocation } from "wouter";

import { statusQuery } from "@/api/queries";
import { formatCount } from "@/lib/format";
import { useStore } from "@/state/binding";
import { nextTheme, theme } from "@/state/settings";
import type { Theme } from "@/state/settings";
import { IconButton } from "@/ui/controls";
import { Brand, Icon } from "@/ui/icons";
import type { IconName } from "@/ui/icons";

import { AccountMenu } from "./account";
import { usePages } from "./use-pages";
import { Pulse } from "./pulse";

const THEME_ICONS: Readonly<Record<Theme, IconName>> = { system: "half", light: "sun", dark: "moon" };
const THEME_NAMES: Readonly<Record<Theme, string>> = { system: "by system", light: "light", dark: "dark" };

/** The same on every page. */
export function TopBar({ onJump }: { readonly onJump: () => void }) {
  const [path] = useLocation();
  const pages = usePages().filter((page) => !page.aside);
  const problems = useQuery(statusQuery()).data?.problems ?? 0;
  return (
    <header className="top">
      <Link className="brand" href="/">
        <Brand />
        <span className="wordmark">turnlog</span>
      </Link>
      <nav className="nav" aria-label="Pages">
        {pages.map((page) => (
          <Link key={page.path} href={page.path} aria-current={path.startsWith(page.path) ? "page" : undefined}>
            {page.name}
            {page.name === "Problems" && problems > 0 && <span className="n">{formatCount(problems)}</span>}
          </Link>
        ))}
      </nav>
      <div className="grow" />
      <Pulse />
      <button type="button" className="jump" aria-keyshortcuts="Control+K" onClick={onJump}>
        <Icon name="grep" className="i-s" />
        <span>Search or jump to</span>
        <kbd aria-hidden="true">Ctrl K</kbd>
      </button>
      <ThemeSwitch />
      <AccountMenu />
    </header>
  );
}

function ThemeSwitch() {
  const current = useStore(theme);
  return (
    <IconButton
      icon={THEME_ICONS[current]}
      label={`Theme: ${THEME_NAMES[current]}`}
      onClick={() => {
        theme.set(nextTheme(current));
      }}
    />
  );
}
