import type { HoldpointError } from "./errors.js";
import type { KeySet } from "./types.js";

const maxLength = 64 << 10;

/** Makes the error for a text that the service did not sign. */
export type Refusal = (message: string, options?: ErrorOptions) => HoldpointError;

/**
 * The payload of a compact JWS of the service for a purpose. The header has three members and no more,
 * so nothing in it can ask for another way to verify.
 */
export async function verifiedPayload(keys: KeySet, text: string, purpose: string, refused: Refusal): Promise<string> {
  const parts = text.split(".");
  if (text.length > maxLength || parts.length !== 3) throw refused("it is not a compact JWS");
  const [header, payload, signature] = parts.map((part) => decoded(part, refused)) as [Bytes, Bytes, Bytes];
  const { alg, kid, typ, ...more } = objectOf(new TextDecoder().decode(header), refused);
  if (alg !== "EdDSA" || typ !== purpose || typeof kid !== "string" || Object.keys(more).length > 0) {
    throw refused(`its header is not that of ${JSON.stringify(purpose)}`);
  }
  const key = keys.keys.find((one) => one.kid === kid && one.kty === "OKP" && one.crv === "Ed25519");
  if (key === undefined) throw refused(`its key ${JSON.stringify(kid.slice(0, 80))} is not among those given`);
  const signed = new TextEncoder().encode(`${parts[0]}.${parts[1]}`);
  let holds = false;
  try {
    const imported = await crypto.subtle.importKey("raw", decoded(key.x, refused), { name: "Ed25519" }, false, ["verify"]);
    holds = await crypto.subtle.verify({ name: "Ed25519" }, imported, signature, signed);
  } catch (failure) {
    throw refused("its signature cannot be checked", { cause: failure });
  }
  if (!holds) throw refused("its signature does not hold");
  return new TextDecoder().decode(payload);
}

/** The claims in a payload, with these texts and with the times. */
export function claimsIn(payload: string, texts: readonly string[], refused: Refusal): Record<string, unknown> {
  const claims = objectOf(payload, refused);
  if (texts.some((name) => typeof claims[name] !== "string") || !Number.isSafeInteger(claims["iat"]) || !Number.isSafeInteger(claims["exp"])) {
    throw refused("its claims cannot be read");
  }
  return claims;
}

type Bytes = Uint8Array<ArrayBuffer>;

/** Decodes base64url that has one form: no padding, no spaces, no bits left over. */
function decoded(text: string, refused: Refusal): Bytes {
  try {
    const bytes = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    const again = btoa(bytes).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
    if (again === text) return Uint8Array.from(bytes, (character) => character.charCodeAt(0));
  } catch {
    // It is refused below.
  }
  throw refused("it is not a compact JWS");
}

function objectOf(text: string, refused: Refusal): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw refused("it cannot be read");
  return value as Record<string, unknown>;
}
