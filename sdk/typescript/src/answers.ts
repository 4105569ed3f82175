import { HoldpointError } from "./errors.js";
import { inputDigest } from "./grants.js";
import { claimsIn, verifiedPayload, type Refusal } from "./jws.js";
import type { Answer, AnswerClaims, KeySet } from "./types.js";

const purpose = "holdpoint-answer+jwt";
const texts = ["iss", "aud", "sub", "request_id", "answers_digest", "fence", "jti", "resolved_by"];

/**
 * Checks without the service that it signed the answers of a resolution, which the holder of the fence
 * got, and returns what else the signature says. Compare `sub` and `request_id` with your run and
 * request. `answers` and `value` are covered, with the texts of the questions and of the selected
 * options, and so is `resolved_by`; `summary`, `justification` and `runtime_payload` are not. The keys
 * are those of `Holdpoint.keys`.
 *
 * Throws errors of the kinds `invalid_answer` and `answer_expired`. Needs Ed25519 in WebCrypto, as
 * `verifyGrant` does.
 */
export async function verifyAnswer(keys: KeySet, resolution: Answer): Promise<AnswerClaims> {
  const claims = claimsIn(await verifiedPayload(keys, resolution.signature ?? "", purpose, invalid), texts, invalid) as unknown as AnswerClaims;
  const { answers, value } = resolution;
  const digest = await inputDigest({ answers: answers ?? [], ...(value === undefined ? {} : { value }) }).catch((failure: unknown) => {
    throw invalid("the answers have no JSON form", { cause: failure });
  });
  if (claims.exp <= Math.floor(Date.now() / 1000)) throw new HoldpointError(["answer_expired"], `the signature of the answer has expired at ${claims.exp}`);
  if (resolution.outcome !== "answered" || claims.request_id !== resolution.request_id || claims.resolved_by !== resolution.resolved_by) {
    throw invalid(`it is for request ${JSON.stringify(claims.request_id)}, answered by ${JSON.stringify(claims.resolved_by)}`);
  }
  if (claims.answers_digest !== digest) throw invalid(`it is for answers with the digest ${claims.answers_digest}`);
  return claims;
}

const invalid: Refusal = (message, options) => new HoldpointError(["invalid_answer"], message, options);
