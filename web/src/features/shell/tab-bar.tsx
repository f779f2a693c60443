import { useQuery } from "@tanstack/react-query";
import { Link, useLocation } from "wouter";

import { statusQuery } from "@/api/queries";
import { Icon } from "@/ui/icons";

import { PAGES } from "./pages";

/** The pages at the foot of a phone; all others are in the palette. */
export function TabBar({ onMore }: { readonly onMore: () => void }) {
  const [path] = useLocation();
  const needs = useQuery(statusQuery()).data?.needs_you ?? 0;
  return (
    <nav className="tabbar phone-only" aria-label="Pages">
      {PAGES.map((page) =>
        page.short === undefined ? null : (
          <Link key={page.path} href={page.path} aria-current={path.startsWith(page.path) ? "page" : undefined}>
            {page.short === "Live" ? (
              <span className={`st st-${needs > 0 ? "wait" : "idle"}`} aria-hidden="true" />
            ) : (
              <Icon name={page.icon} />
            )}
            {page.short}
          </Link>
        ),
      )}
      <button type="button" onClick={onMore}>
        <Icon name="more" />
        More
      </button>
    </nav>
  );
}
