import { Link, useLocation } from "wouter";

import { useStore } from "@/state/binding";
import { nextTheme, theme } from "@/state/settings";
import type { Theme } from "@/state/settings";
import { IconButton } from "@/ui/controls";
import { Brand } from "@/ui/icons";
import type { IconName } from "@/ui/icons";

import { PAGES } from "./pages";
import { Pulse } from "./pulse";
import { SearchField } from "./search-field";

const THEME_ICONS: Readonly<Record<Theme, IconName>> = { system: "half", light: "sun", dark: "moon" };
const THEME_NAMES: Readonly<Record<Theme, string>> = { system: "by system", light: "light", dark: "dark" };

/** The same on every page. */
export function TopBar() {
  const [path] = useLocation();
  return (
    <header className="top">
      <Link className="brand" href="/">
        <Brand />
        turnlog
      </Link>
      <nav className="nav" aria-label="Pages">
        {PAGES.map((page) => (
          <Link key={page.path} href={page.path} aria-current={path.startsWith(page.path) ? "page" : undefined}>
            {page.name}
          </Link>
        ))}
      </nav>
      <div className="grow" />
      <Pulse />
      <SearchField />
      <ThemeSwitch />
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
