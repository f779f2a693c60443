/** Without accounts the server is one person's: how it becomes a team's. */
export function Alone() {
  return (
    <div className="alone">
      <h1>This archive is yours alone.</h1>
      <p className="lead">
        There are no accounts here, and none are needed. With the first one this becomes a team’s server:
        everyone logs in, pushes sessions from their machines, and sees their own sessions and what others
        share.
      </p>
      <ol>
        <li>
          <span>Create an account for yourself, on the server; this prints a token, once</span>
          <code>turnlog users add NAME --role admin --token</code>
        </li>
        <li>
          <span>Reload this page, log in with the token, and add the others here</span>
        </li>
      </ol>
      <p className="meta">
        What changes then is described in <code>docs/team.md</code>.
      </p>
    </div>
  );
}
