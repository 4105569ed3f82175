import { HoldpointError, invalid } from "./errors.js";
import { canonicalJSON } from "./json.js";
import { claimsIn, verifiedPayload, type Refusal } from "./jws.js";
import type { GrantClaims, KeySet } from "./types.js";

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
  const claims = claimsIn(await verifiedPayload(keys, grant, purpose, invalidGrant), texts, invalidGrant) as unknown as GrantClaims;
  const digest = await inputDigest(input);
  if (claims.exp <= Math.floor(Date.now() / 1000)) throw refused("grant_expired", `the grant has expired at ${claims.exp}`);
  if (claims.tool_name !== tool) throw refused("grant_mismatch", `the grant is for the tool ${JSON.stringify(claims.tool_name)}`);
  if (claims.input_digest !== digest) throw refused("grant_mismatch", `the grant is for an input with the digest ${claims.input_digest}`);
  return claims;
}

const refused = (kind: "invalid_grant" | "grant_mismatch" | "grant_expired", message: string, options?: ErrorOptions) =>
  new HoldpointError([kind], message, options);
const invalidGrant: Refusal = (message, options) => refused("invalid_grant", message, options);
const texts = ["iss", "aud", "sub", "request_id", "tool_name", "input_digest", "fence", "jti", "resolved_by"];
