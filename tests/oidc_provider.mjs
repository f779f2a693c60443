// A provider of logins on loopback for tests: a real one (npm `oidc-provider`), whose people sign in as soon as
// they come, and which can be told to answer falsely. `node oidc_provider.mjs '{"accounts": {…}}'` writes its
// address on one line, and ends with its standard input.

import { randomBytes } from "node:crypto";
import http from "node:http";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const packages = createRequire(new URL("../web/package.json", import.meta.url));
const load = (name) => import(pathToFileURL(packages.resolve(name)).href);
const { default: Provider } = await load("oidc-provider");
const jose = await load("jose");

const options = JSON.parse(process.argv[2]);
const told = { account: "", tamper: "" };
const makeKey = async () =>
  jose.generateKeyPair("RS256", { extractable: true });
const key = await makeKey();
const kid = randomBytes(8).toString("hex");
const jwk = {
  ...(await jose.exportJWK(key.privateKey)),
  kid,
  use: "sig",
  alg: "RS256",
};

const server = http.createServer();
await new Promise((resolve) =>
  server.listen(options.port ?? 0, "127.0.0.1", resolve),
);
const issuer = `http://127.0.0.1:${server.address().port}`;

const provider = new Provider(issuer, {
  clients: [
    {
      client_id: "turnlog",
      client_secret: "provider-secret",
      redirect_uris: ["http://127.0.0.1/cb"],
    },
  ],
  jwks: { keys: [jwk] },
  cookies: { keys: [randomBytes(16).toString("hex")] },
  claims: { email: ["email", "email_verified"], profile: ["name"] },
  conformIdTokenClaims: options.conforms ?? true,
  features: { devInteractions: { enabled: false } },
  findAccount: (_, id) => {
    const claims = options.accounts[id];
    return (
      claims && {
        accountId: id,
        claims: () => ({ sub: claims.sub ?? id, ...claims }),
      }
    );
  },
  interactions: { url: (_, interaction) => `/sign-in/${interaction.uid}` },
  loadExistingGrant: async (ctx) => {
    const grant = new provider.Grant({
      clientId: ctx.oidc.client.clientId,
      accountId: ctx.oidc.session.accountId,
    });
    grant.addOIDCScope("openid email profile");
    await grant.save();
    return grant;
  },
});
// Whichever port the server got.
provider.Client.prototype.redirectUriAllowed = (uri) =>
  /^http:\/\/127\.0\.0\.1:\d+\/api\/login\/callback$/.test(uri);

const sign = (claims, by = key.privateKey, header = { alg: "RS256", kid }) =>
  new jose.SignJWT(claims).setProtectedHeader(header).sign(by);
const unsigned = (claims) => {
  const encode = (value) =>
    Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${encode({ alg: "none" })}.${encode(claims)}.`;
};
const FORGERIES = {
  nonce: (claims) => sign({ ...claims, nonce: "another" }),
  "no-nonce": ({ nonce: _, ...claims }) => sign(claims),
  audience: (claims) => sign({ ...claims, aud: "another-client" }),
  issuer: (claims) => sign({ ...claims, iss: "https://login.example.org" }),
  expired: (claims) =>
    sign({ ...claims, iat: claims.iat - 9000, exp: claims.iat - 8000 }),
  future: (claims) =>
    sign({ ...claims, iat: claims.iat + 9000, exp: claims.exp + 9000 }),
  none: unsigned,
  shared: (claims) =>
    sign(claims, Buffer.from("provider-secret"), { alg: "HS256" }),
  "other-key": async (claims) => sign(claims, (await makeKey()).privateKey),
  skewed: (claims) =>
    sign({ ...claims, iat: claims.iat + 60, exp: claims.exp + 60 }),
};

provider.use(async (ctx, next) => {
  await next();
  if (ctx.path === "/token" && ctx.body?.id_token && FORGERIES[told.tamper]) {
    ctx.body.id_token = await FORGERIES[told.tamper](
      jose.decodeJwt(ctx.body.id_token),
    );
  }
  if (ctx.path === "/token" && told.tamper === "huge")
    ctx.body = { ...ctx.body, more: "x".repeat(3 << 20) };
  if (ctx.path === "/me" && told.tamper === "somebody-else")
    ctx.body = { ...ctx.body, sub: "somebody" };
});

const handle = provider.callback();
server.on("request", async (request, response) => {
  const url = new URL(request.url, issuer);
  if (url.pathname === "/tell") {
    Object.assign(
      told,
      { account: "", tamper: "" },
      Object.fromEntries(url.searchParams),
    );
    response.end();
  } else if (url.pathname.startsWith("/sign-in/")) {
    const result = options.accounts[told.account]
      ? { login: { accountId: told.account, remember: false } }
      : { error: "access_denied" };
    await provider.interactionFinished(request, response, result);
  } else {
    handle(request, response);
  }
});
process.stdin.resume().on("end", () => process.exit(0));
process.stdout.write(`${JSON.stringify({ issuer })}\n`);
