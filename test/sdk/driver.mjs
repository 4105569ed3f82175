// Does the steps of scenarios.json with the TypeScript SDK. A step is a line on standard input,
// its outcome one on standard output.
import { createInterface } from "node:readline";
import { AttemptError, Holdpoint, HoldpointError, Worker, approved, decodeJSON, encodeJSON } from "@holdpoint/sdk";

const [, , baseUrl] = process.argv;
const patient = { maxAttempts: 100, baseDelayMs: 20, maxDelayMs: 200 };
const client = (actor) => new Holdpoint({ baseUrl, retry: patient, ...(actor ? { actor } : {}) });
const service = client();
const workers = new Map();
const streams = new Map();
let results = [];
let reports = [];

const handlers = {
  approve: async (task) => {
    const decided = await task.approve({ id: "go", tool_name: "deploy", input: task.input });
    return { outcome: decided.outcome, by: decided.resolved_by, input: decided.updated_input ?? task.input };
  },
  suspend: async (task) => {
    const { approvals } = await task.suspend({
      approvals: [{ id: "go", tool_call_id: "c", tool_name: "deploy", input: task.input }], checkpoint: { step: 1 },
    });
    const { outcome, reason } = approvals[0].resolution;
    return { outcome, reason, checkpoint: task.checkpoint };
  },
  ask: async (task) => {
    const options = [{ id: "left" }, { id: "right" }];
    const way = await task.ask({ id: "which", questions: [{ id: "way", question: "Which way?", options }] });
    const count = await task.ask({ id: "count", kind: "count", response_schema: { type: "object", required: ["replicas"] } });
    const note = await task.ask({ id: "note", kind: "note" });
    return { way: way.answers[0].selected_option_ids, count: count.value, note: note.value };
  },
  both: async (task) => {
    const [one, two] = await Promise.all(["one", "two"].map((id) => task.approve({ id, tool_name: id, input: 1 })));
    return { one: one.outcome, two: two.outcome };
  },
  busy: async (task) => {
    await task.output("begins");
    await task.saveCheckpoint(1);
    await task.approve({ id: "in-place", tool_name: "look", input: 1 });
    await task.emit({ type: "step" });
    await task.suspend({ approvals: [{ id: "parked", tool_call_id: "c", tool_name: "deploy", input: 1 }] });
    await task.ask({ id: "which", questions: [{ id: "way", question: "Which way?", options: [{ id: "left" }, { id: "right" }] }] });
    return "done";
  },
  carry: async (task) => {
    const { approvals } = await task.suspend({
      approvals: [{ id: "go", tool_call_id: "c", tool_name: "deploy", input: task.input }], checkpoint: task.input,
    });
    const { updated_input: updated } = approvals[0].resolution;
    await task.redeemGrant(approvals[0].resolution, updated);
    const { value } = await task.ask({ id: "value", kind: "value", payload: task.input, response_schema: { type: "object" } });
    await task.emit({ type: "carried", value });
    await task.saveCheckpoint(updated);
    return { input: task.input, updated, checkpoint: task.checkpoint, value };
  },
  careless: async (task) => {
    await task.output("begins");
    const resume = await task.suspend({
      approvals: [{ id: "first", tool_name: "build", input: task.input }, { id: "second", tool_name: "deploy", input: task.input }],
    });
    await task.output("goes on");
    const [second, first] = [approved(resume, "second"), approved(resume, "first")];
    return { first, second, third: await task.approveInput({ id: "third", tool_name: "announce", input: task.input }) };
  },
  own_ids: async (task) => {
    const outcomes = {};
    for (const id of ["first", "second"]) {
      const { approvals } = await task.suspend({ suspension_id: `s-${id}`, approvals: [{ id, tool_name: "deploy", input: task.input }] });
      outcomes[id] = approvals[0].resolution.outcome;
    }
    return outcomes;
  },
  no_ids: async (task) => {
    const questions = [{ tool_call_id: "which", questions: [{ id: "way", question: "Which way?" }] }];
    const resume = await task.suspend({ suspension_id: "s", questions });
    return resume.questions[0].resolution.answers[0].freeform_answer;
  },
  fail: async () => {
    throw new Error("out of paper");
  },
};

const onError = (error) => {
  const about = error instanceof AttemptError ? { run: error.runId, attempt: error.attempt, last: error.last, cause: error.cause.message } : { other: error.message };
  reports.push(about);
};

const typeOf = (item) => (item.type === "event" ? item.event.event.type : item.type);

const steps = {
  create_run: (s) => service.createRun(s.body, { idempotencyKey: s.key }),
  wait_run: (s) => service.waitRun(s.run),
  get_run: (s) => service.getRun(s.run),
  appended: async (s) => ({ events: (await service.listRunEvents(s.run)).map((entry) => entry.event).filter((event) => event.type === s.type) }),
  retry_run: (s) => service.retryRun(s.run),
  cancel_run: (s) => service.cancelRun(s.run),
  claim: (s) => service.claimRun(s.run, { worker_id: s.worker }),
  release: (s) => service.releaseRun(s.run, s.fence),
  complete: (s) => service.completeRun(s.run, s.fence, s.output),
  fail: (s) => service.failRun(s.run, s.fence, s.reason),
  emit: (s) => service.appendEvents(s.run, s.fence, s.events),
  approve: async (s) => decided(await client(s.as).approve(s.shown, "updated_input" in s ? { updated_input: s.updated_input } : {}, { idempotencyKey: s.key })),
  deny: async (s) => decided(await client(s.as).deny(s.shown, s.reason ? { reason: s.reason } : {})),
  answer: async (s) => decided(await client(s.as).answer(s.shown, s.answers ?? { value: s.value })),
  call: (s) => client(s.as)[s.call.replace(/_(.)/g, (_, letter) => letter.toUpperCase())](...s.arguments),
  list_runs: async (s) => {
    const runIds = [];
    for await (const run of service.allRuns({ sessionId: s.session, limit: 1 })) runIds.push(run.run_id);
    return { run_ids: runIds };
  },
  shown: async (s) => {
    for (;;) {
      for await (const list of [service.allApprovals(), service.allQuestions()]) {
        for await (const shown of list) if (shown.run_id === s.run && (!s.request || shown.request.id === s.request)) return shown;
      }
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  },
  worker: (s) => {
    const stop = new AbortController();
    const worker = new Worker(new Holdpoint({ baseUrl }), { workerId: s.worker, agentIds: [s.agent], drainMs: 600_000, retryDelayMs: 10, onError });
    const handle = async (task) => {
      const result = await handlers[s.handler](task);
      results.push(result);
      return result;
    };
    workers.set(s.worker, { stop, ended: worker.run(handle, { signal: stop.signal }) });
    return {};
  },
  stop_worker: async (s) => {
    workers.get(s.worker).stop.abort();
    await workers.get(s.worker).ended;
    return {};
  },
  reported: () => {
    const done = reports;
    reports = [];
    return { reports: done };
  },
  handled: () => {
    const done = results;
    results = [];
    return { results: done };
  },
  open_stream: async (s) => {
    const items = service.streamRun(s.run, s.after ? { after: s.after } : {});
    const { value: first } = await items.next();
    streams.set(s.stream, { items, types: [typeOf(first)] });
    return { type: typeOf(first), id: first.id };
  },
  read_stream: async (s) => {
    const { items, types } = streams.get(s.stream);
    for await (const item of items) types.push(typeOf(item));
    return { types };
  },
};

function decided(run) {
  return { run, replayed: run.replayed };
}

function refused(error) {
  const { status, code, pointer, recordedDecision, pendingApproval } = error;
  return { status, code, pointer, kinds: [...error.kinds], recorded_decision: recordedDecision, pending_approval: pendingApproval };
}

for await (const line of createInterface({ input: process.stdin })) {
  const step = decodeJSON(line);
  Promise.resolve()
    .then(() => steps[step.do](step))
    .then((result) => ({ result }), (error) => (error instanceof HoldpointError ? { refused: refused(error) } : { failed: String(error.stack) }))
    .then((outcome) => process.stdout.write(encodeJSON({ id: step.id, ...outcome }) + "\n"));
}
process.exit(0);
