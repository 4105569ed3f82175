import { HoldpointError, invalid } from "./errors.js";
import { canonicalJSON } from "./json.js";
import type { GrantClaims, KeySet } from "./types.js";

const maxGrantLength = 64 << 10;
const purpose = "holdpoint-grant+jwt";

/**
 * `sha256:` and the hexadecimal SHA-256 of the RFC 8785 form of a value with a JSON form, in which
 * integers keep their digits: give those beyond 2^53 as bigint. Throws an error of the kind `invalid`
 * for a value without a JSON form.
 */
export async function inputDigest(input: unknown): Promise<string> {
  const form = canonicalJSON(input);
  if (form === undefined) throw invalid("the input has no JSON form");
  const sum = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(form));
  return "sha256:" + Array.from(new Uint8Array(sum), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * Checks without the service that a grant, the text in the resolution of an allowed approval,
 * allows a tool to run with an input, and returns what else it says. It does not say whether the
 * grant was redeemed, or its lease lost since: `Holdpoint.redeemGrant` does. Whoever verifies
 * grants alone and must not do a thing twice keeps the `jti` of what was done. The keys are those
 * of `Holdpoint.keys`; read them again when a key is not known, as replicas get new ones.
 *
 * Throws errors of the kinds `invalid_grant` (no grant that the service signed), `grant_mismatch`
 * (for another tool or input), `grant_expired`, and `invalid`. Needs Ed25519 in WebCrypto: Node
 * 20, Deno, or a browser of 2025.
 */
export async function verifyGrant(keys: KeySet, grant: string, tool: string, input: unknown): Promise<GrantClaims> {
  const claims = claimsOf(await payloadOf(keys, grant));
  const digest = await inputDigest(input);
  if (claims.exp <= Math.floor(Date.now() / 1000)) throw refused("grant_expired", `the grant has expired at ${claims.exp}`);
  if (claims.tool_name !== tool) throw refused("grant_mismatch", `the grant is for the tool ${JSON.stringify(claims.tool_name)}`);
  if (claims.input_digest !== digest) throw refused("grant_mismatch", `the grant is for an input with the digest ${claims.input_digest}`);
  return claims;
}

const refused = (kind: "invalid_grant" | "grant_mismatch" | "grant_expired", message: string, options?: ErrorOptions) =>
  new HoldpointError([kind], message, options);

/** The header has three members and no more, so nothing in it can ask for another way to verify. */
async function payloadOf(keys: KeySet, grant: string): Promise<string> {
  const parts = grant.split(".");
  if (grant.length > maxGrantLength || parts.length !== 3) throw refused("invalid_grant", "it is not a compact JWS");
  const [header, payload, signature] = parts.map(decoded) as [Bytes, Bytes, Bytes];
  const { alg, kid, typ, ...more } = objectOf(header);
  if (alg !== "EdDSA" || typ !== purpose || typeof kid !== "string" || Object.keys(more).length > 0) {
    throw refused("invalid_grant", "its header is not that of a grant");
  }
  const key = keys.keys.find((one) => one.kid === kid && one.kty === "OKP" && one.crv === "Ed25519");
  if (key === undefined) throw refused("invalid_grant", `its key ${JSON.stringify(kid.slice(0, 80))} is not among those given`);
  const signed = new TextEncoder().encode(`${parts[0]}.${parts[1]}`);
  let holds = false;
  try {
    const imported = await crypto.subtle.importKey("raw", decoded(key.x), { name: "Ed25519" }, false, ["verify"]);
    holds = await crypto.subtle.verify({ name: "Ed25519" }, imported, signature, signed);
  } catch (failure) {
    throw refused("invalid_grant", "its signature cannot be checked", { cause: failure });
  }
  if (!holds) throw refused("invalid_grant", "its signature does not hold");
  return new TextDecoder().decode(payload);
}

type Bytes = Uint8Array<ArrayBuffer>;

/** Decodes base64url that has one form: no padding, no spaces, no bits left over. */
function decoded(text: string): Bytes {
  try {
    const bytes = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    const again = btoa(bytes).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
    if (again === text) return Uint8Array.from(bytes, (character) => character.charCodeAt(0));
  } catch {
    // It is refused below.
  }
  throw refused("invalid_grant", "it is not a compact JWS");
}

function objectOf(text: Bytes | string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(typeof text === "string" ? text : new TextDecoder().decode(text));
  } catch {
    value = undefined;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw refused("invalid_grant", "it cannot be read");
  return value as Record<string, unknown>;
}

const texts = ["iss", "aud", "sub", "request_id", "tool_name", "input_digest", "fence", "jti", "resolved_by"];

function claimsOf(payload: string): GrantClaims {
  const claims = objectOf(payload);
  if (texts.some((name) => typeof claims[name] !== "string") || !Number.isSafeInteger(claims["iat"]) || !Number.isSafeInteger(claims["exp"])) {
    throw refused("invalid_grant", "its claims cannot be read");
  }
  return claims as unknown as GrantClaims;
}
