// Holds the library to docs/spec/grant-vectors.json, whose path is the first argument, and tries a grant of
// the service at the second.
import { readFile } from "node:fs/promises";
import process from "node:process";
import { pathToFileURL } from "node:url";

import { Holdpoint, HoldpointError, Worker, decodeJSON, inputDigest, verifyAnswer, verifyGrant } from "@holdpoint/sdk";

const vectors = JSON.parse(await readFile(process.argv[2], "utf8"));
let failed = 0;
const wrong = (text) => { failed++; console.log(text); };
for (const one of vectors.grants) {
  let result;
  try {
    const claims = await verifyGrant(vectors.keys, one.grant, one.tool, decodeJSON(one.input));
    result = claims.jti === "request_1" ? "ok" : "other claims";
  } catch (error) {
    result = error instanceof HoldpointError ? [...error.kinds].join(",") : String(error);
  }
  if (result !== one.result) wrong(`${one.name}: ${result} and not ${one.result}`);
}
for (const one of vectors.digests) if (await inputDigest(decodeJSON(one.input)) !== one.digest) wrong(`the digest of ${one.input}`);
const signed = JSON.parse(await readFile(new URL("answer-vectors.json", pathToFileURL(process.argv[2])), "utf8"));
for (const one of signed.answers) {
  const result = await verifyAnswer(signed.keys, decodeJSON(one.resolution)).then(
    (claims) => (claims.jti === "request_1" ? "ok" : "other claims"),
    (error) => (error instanceof HoldpointError ? [...error.kinds].join(",") : String(error)));
  if (result !== one.result) wrong(`${one.name}: ${result} and not ${one.result}`);
}
const circle = {};
circle.circle = circle;
for (const refused of [undefined, () => 1, Number.NaN, circle]) {
  await inputDigest(refused).then((digest) => wrong(digest), (error) => error.is("invalid") || wrong(String(error)));
}

// A grant of the service is verified, and redeemed once.
const baseUrl = process.argv[3];
const service = new Holdpoint({ baseUrl });
const run = await service.createRun({ agent_id: "grants", input: { n: 1 } });
const runId = run.run.run_id;
const stopped = new AbortController();
const said = [];
const working = new Worker(service, { agentIds: ["grants"] }).run(async (task) => {
  const decision = await task.approve({ id: "go", tool_name: "deploy", input: { to: "staging", n: 1.5 } });
  const allowed = { n: 1.5, to: "production" };
  const claims = await verifyGrant(await service.keys(), decision.grant, "deploy", allowed);
  await task.redeemGrant(decision, { to: "staging" }).catch((error) => said.push(...error.kinds));
  const redeemed = await task.redeemGrant(decision, allowed);
  if (redeemed.jti !== claims.jti || claims.sub !== runId) wrong("the grant of another request");
  await task.redeemGrant(decision, allowed).catch((error) => said.push(...error.kinds, error.redemption.jti === redeemed.jti));
  const answer = await task.ask({ id: "when", questions: [{ id: "day", question: "Which day?" }] });
  const answered = await verifyAnswer(await service.keys(), answer);
  if (answered.sub !== runId || answered.request_id !== "when") wrong("the answer of another run");
  await verifyAnswer(await service.keys(), { ...answer, value: "no" }).catch((error) => said.push(...error.kinds));
}, { signal: stopped.signal }).catch(() => {});
for await (const item of service.streamRun(runId, { after: "0" })) if (item.type === "event" && item.event.event.type === "waiting_for_approval") break;
for await (const shown of service.allApprovals()) await service.approve(shown, { updated_input: { to: "production", n: 1.5 } });
for await (const item of service.streamRun(runId, { after: "0" })) if (item.type === "event" && item.event.event.type === "waiting_for_user_question") break;
for await (const shown of service.allQuestions()) await service.answer(shown, [{ question_id: "day", freeform_answer: "Monday" }]);
const done = await service.waitRun(runId);
if (done.status !== "completed" || said.join() !== "conflict,grant_mismatch,conflict,grant_redeemed,true,invalid_answer") wrong(JSON.stringify([done, said]));

const path = `/v1/runs/${runId}/stream`;
const { ticket } = await service.createStreamTicket(path);
const stream = await fetch(`${baseUrl}${path}?ticket=${ticket}`);
if (!(await stream.text()).includes("snapshot")) wrong("no stream");
stopped.abort();
await working;
console.log(`${vectors.grants.length} grants, ${vectors.digests.length} digests, ${signed.answers.length} answers, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);
