/** Without accounts the server is one person's: how it becomes a team's. */
export function Alone() {
  return (
    <div className="alone">
      <h1>This archive is yours alone.</h1>
      <p className="lead">
        There are no accounts here, and none are needed. With the first one this server becomes a team’s:
        everybody logs in, pushes the sessions of their machines, and sees their own and what others share.
      </p>
      <ol>
        <li>
          <span>Make an account for yourself, on the server: it prints a token, once</span>
          <code>turnlog users add NAME --role admin --token</code>
        </li>
        <li>
          <span>Load this page again, log in with the token, and add the others here</span>
        </li>
      </ol>
      <p className="meta">
        What changes with it is in <code>docs/teams.md</code>.
      </p>
    </div>
  );
}
