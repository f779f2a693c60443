import { Link } from "wouter";

export function NotFound() {
  return (
    <main id="main" className="none">
      <h1>
        <b>There is no such page.</b>
      </h1>
      <p>The address may have been copied incompletely.</p>
      <Link className="btn" href="/sessions">
        All sessions
      </Link>
    </main>
  );
}
