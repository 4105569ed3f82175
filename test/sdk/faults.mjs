// Has the TypeScript SDK meet what a real service and its network do only now and then: each case has a service of its own, which
// answers as the case says.
import { AttemptError, Holdpoint, HoldpointError, Worker, isKind } from "@holdpoint/sdk";

const retry = { baseDelayMs: 1, maxDelayMs: 1, maxRetryAfterMs: 1 };
const run = { run_id: "run-1", session_id: "s", status: "running" };
const claim = { run, input: {}, attempt: 1, lease: { fence: "f", worker_id: "w", expires_at_ms: 0 } };
const beat = { cancel_requested: false, expires_at_ms: 0 };
// Options of a worker whose only renewals are those that the handler makes.
const unrenewed = { leaseMs: 60_000, heartbeatMs: 30_000 };
const page = "<html>We are back soon</html>";
const gateway = [502, { code: 502, message: "no backend" }];
const hold = (_body, signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));

// Answers each call by the first route whose name ends its path: with the next of its answers, the last of them for good. An answer is
// a document, a text, a pair of a status and one of these, or a function of the call's body and signal.
class Service {
  bodies = {};
  heads = {};
  /** The paths and queries of all calls. */
  targets = [];
  #called = {};

  constructor(routes = {}) {
    this.routes = { claim: [{ claims: [claim] }, hold], heartbeat: [beat], complete: [run], fail: [run], release: [run], ...routes };
  }

  fetch = async (url, { body, headers, signal }) => {
    const { pathname: path, search } = new URL(url);
    this.targets.push(path + search);
    const name = Object.keys(this.routes).find((name) => path.endsWith(name));
    const answers = this.routes[name];
    let given = answers.length > 1 ? answers.shift() : answers[0];
    (this.bodies[name] ??= []).push(body);
    (this.heads[name] ??= []).push(headers);
    this.#event(name).set();
    await new Promise((resolve) => setTimeout(resolve)); // no reply comes at once
    signal.throwIfAborted();
    if (typeof given === "function") given = await given(body, signal);
    if (given instanceof Response) return given;
    const [status, document] = Array.isArray(given) ? given : [200, given];
    return new Response(status === 204 ? null : typeof document === "string" ? document : JSON.stringify(document), { status, headers: { "Retry-After": "1" } });
  };

  #event(name) {
    if (!this.#called[name]) {
      const event = (this.#called[name] = {});
      event.done = new Promise((resolve) => (event.set = resolve));
    }
    return this.#called[name];
  }

  // Resolves after the first call of a route.
  called(name) {
    return this.#event(name).done;
  }

  get client() {
    return new Holdpoint({ baseUrl: "http://holdpoint.test", fetch: this.fetch, retry });
  }

  // Lets a worker handle the claims until something has happened, and returns what the worker reported.
  async work(handler, until, options = {}, client = this.client) {
    const reported = [];
    const worker = new Worker(client, { leaseMs: 1000, heartbeatMs: 10, retryDelayMs: 0, onError: (error) => reported.push(error), ...options });
    const stop = new AbortController();
    const running = worker.run(handler, { signal: stop.signal });
    await Promise.race([until, running]);
    stop.abort();
    await running;
    return reported;
  }
}

function signal() {
  const made = {};
  made.done = new Promise((resolve) => (made.set = resolve));
  return made;
}

function same(got, want) {
  if (JSON.stringify(got) !== JSON.stringify(want)) throw new Error(`${JSON.stringify(got)} and not ${JSON.stringify(want)}`);
}

const cases = {
  async "a page in place of a reply is an outage"() {
    const renewed = signal();
    const thirdBeat = () => {
      renewed.set();
      return beat;
    };
    const settled = { request: { id: "go", tool_name: "rm", input: 1 }, resolution: { outcome: "allowed", behavior: "allow" }, settled_number: "1" };
    const service = new Service({
      claim: [page, gateway, [404, page], {}, "", "7", { claims: [claim] }, hold], heartbeat: [page, gateway, {}, thirdBeat, beat], suspend: [page, {}, { run }],
      resume: [page, gateway, {}, { settled: [settled], after: "1", open: 0, cancel_requested: false }],
      complete: [page, gateway, [302, page], [408, page], [408, { code: "timeout" }], () => Response.error(), {}, run], // in a browser, a redirect has no status either
    });
    const reported = await service.work(async (task) => {
      await renewed.done;
      return await task.approveInput({ id: "go", tool_name: "rm", input: 1 });
    }, service.called("complete"));
    same(service.bodies.complete, Array(8).fill('{"fence":"f","output":1}'));
    same(reported.filter((error) => !(error instanceof HoldpointError)), []);
  },

  async "a refusal after a lost attempt does not say that nothing happened"() {
    const refuse = (status, code) => () => new Response(JSON.stringify({ code }), { status });
    const [lostReply, limited] = [refuse(502, 502), refuse(429, "rate_limited")];
    for (const [replies, lost] of [
      [[lostReply, limited], true], [[limited, lostReply, limited], true], [[lostReply, refuse(401, "invalid_token")], true],
      [[lostReply, refuse(408, "RequestTimeout")], true], [[lostReply, refuse(404, "run_not_found")], true], [[refuse(404, "run_not_found")], false], [[lostReply, refuse(409, "approval_state_conflict")], false], [[limited], false],
    ]) {
      const service = new Service({ approvals: replies });
      const error = await service.client.resolveRunApprovals("run-1", [{ request_id: "go", behavior: "allow" }]).catch((error) => error);
      same([error.lost, isKind(error, "unavailable"), error.message.includes("may have taken effect")], [lost, lost, lost]);
    }
    // The calls of a task outlast what a proxy answers.
    const service = new Service({ fail: [[500, page], refuse(403, "forbidden")] });
    const error = await service.client.patiently(1000).failRun("run-1", "f", "why").catch((error) => error);
    same([error.status, error.lost], [403, true]);
  },

  async "a reply of another shape ends the wait"() {
    const service = new Service({ suspend: [{ run }], resume: [{ settled: 7, after: "1" }] });
    const reported = await service.work((task) => task.approve({ id: "go", tool_name: "rm", input: 1 }), service.called("fail"), { maxAttempts: 1 });
    same(reported[0] instanceof AttemptError, true);
  },

  async "a reply without the members of a renewal renews no lease"() {
    for (const reply of [{}, { expires_at_ms: 1 }, { cancel_requested: false }, []]) {
      const lost = signal();
      const service = new Service({ heartbeat: [reply] });
      const reported = await service.work(async (task) => {
        task.signal.addEventListener("abort", lost.set);
        await lost.done;
      }, lost.done);
      same(reported.some((error) => isKind(error, "lease_lost")), true);
    }
  },

  async "a grant is not redeemed by a reply without members"() {
    const service = new Service({ redeem: [{}] });
    const error = await service.client.redeemGrant("grant", 1).catch((error) => error);
    same(isKind(error, "unavailable"), true);
  },

  async "events that do not go on end"() {
    const page = Array.from({ length: 1000 }, (_, n) => ({ id: String(n), event: { type: "x" } })); // out of a cache that ignores the query
    let read = 0;
    try {
      for await (const _ of new Service({ events: [[200, page]] }).client.allRunEvents("run-1")) if (++read > 1000) break;
      throw new Error("no error");
    } catch (error) {
      same([isKind(error, "unavailable"), read], [true, 1000]);
    }
  },

  async "a key in a body is the key of the call"() {
    const keyed = { idempotency_key: "k" };
    const calls = {
      createRun: (client) => client.createRun({ input: 1, ...keyed }), createSessionRun: (client) => client.createSessionRun("s", { input: 1, ...keyed }),
      sendInput: (client) => client.sendInput("s", { input: 1, ...keyed }), createSession: (client) => client.createSession(keyed),
      addRule: (client) => client.addRule({ effect: "deny", match: {}, ...keyed }), suspend: (client) => client.suspend("run-1", "f", { approvals: [], ...keyed }),
    };
    for (const [name, call] of Object.entries(calls)) {
      const service = new Service({ "": [name === "suspend" ? { run } : { ...run, rule_id: "rule-1" }] });
      await call(service.client);
      const { idempotency_key, run_id, session_id, rule_id, suspension_id } = JSON.parse(service.bodies[""][0]);
      same([name, idempotency_key, run_id ?? session_id ?? rule_id ?? suspension_id, service.heads[""][0]["Idempotency-Key"]], [name, "k", undefined, undefined]);
    }
  },

  async "a session without an id is named by the service, once"() {
    for (const body of [{}, { session_id: undefined }, { session_id: "" }]) {
      const service = new Service({ sessions: [page, { session_id: "ours:1" }] });
      same((await service.client.createSession(body)).session_id, "ours:1");
      same(service.bodies.sessions, ["{}", "{}"]);
      const [first, second] = service.heads.sessions.map((head) => head["Idempotency-Key"]);
      same([typeof first, first === second], ["string", true]);
    }
    const service = new Service({ sessions: [{ session_id: "s" }] });
    await service.client.createSession({ session_id: "s" });
    same([service.bodies.sessions, service.heads.sessions[0]["Idempotency-Key"]], [['{"session_id":"s"}'], undefined]);
  },

  async "an input that does not wait says so"() {
    const service = new Service({ input: [{ session_id: "s", status: "running" }] });
    for (const options of [{ waitMs: 0 }, { waitMs: 500 }, {}]) await service.client.sendInput("s", { input: 1 }, options);
    same(service.heads.input.map((head) => head.Prefer), ["wait=0", "wait=1", undefined]);
  },

  async "a list may have the sessions below one"() {
    const service = new Service({ "": [{ items: [], pagination: { has_more: false, next_cursor: null } }] });
    for (const options of [{ sessionId: "s", below: true }, { sessionId: "s" }, { below: true }]) {
      await service.client.listApprovals(options);
      for await (const _ of service.client.allQuestions(options));
    }
    same(service.targets, [
      "/v1/approvals?session_id=s&page=true", "/v1/questions?session_id=s&page=true&limit=100", "/v1/sessions/s/approvals?page=true",
      "/v1/sessions/s/questions?page=true&limit=100", "/v1/approvals?page=true", "/v1/questions?page=true&limit=100",
    ]);
  },

  async "a frame of many lines is bounded"() {
    const text = `data: ${"x".repeat(1 << 20)}\n`.repeat(65);
    const error = await new Service({ stream: [text] }).client.streamSession("s").next().catch((error) => error);
    same(error.message?.startsWith("a frame has more than"), true);
  },

  async "a frame without a document ends the stream"() {
    const snapshot = 'event: snapshot\nid: 1\ndata: {"status": "running"}\n\n';
    for (const [text, after] of [
      ["event: snapshot\nid: 1\ndata: {\n\n"], ["event: snapshot\nid: 1\ndata: null\n\n"], [`${snapshot}event: x\nid: 2\ndata: We are back soon\n\n`],
      [`${snapshot}event: x\nid: 2\ndata: []\n\n`], ["event: stream_gap\ndata: {\n\n", "1"], ["event: stream_gap\ndata: null\n\n", "1"],
    ]) {
      const service = new Service({ stream: [text] });
      const read = async () => {
        for await (const _ of service.client.streamRun("run-1", { after }));
      };
      const error = await read().catch((error) => error);
      same([text, error instanceof HoldpointError, isKind(error, "unavailable"), service.targets.length], [text, true, false, 1]);
    }
  },

  async "only the service says that something was deleted or recorded"() {
    for (const call of [(client) => client.revokeRule("r"), (client) => client.revokeToken("t"), (client) => client.setPresence(true)]) {
      for (const answer of [{}, page, [202, {}], [301, ""]]) {
        const error = await call(new Service({ "": [answer] }).client).then(() => "deleted", (error) => error);
        same([answer, error instanceof HoldpointError], [answer, true]);
      }
      await call(new Service({ "": [[204]] }).client);
    }
  },

  async "a reply without members says nothing, and only a call that may be repeated is"() {
    const shown = { run_id: "run-1", request: { id: "go" } };
    const calls = {
      approve: (client) => client.approve(shown), deny: (client) => client.deny(shown),
      answer: (client) => client.answer(shown, { value: 1 }), decline: (client) => client.decline(shown),
      cancelQuestion: (client) => client.cancelQuestion("run-1", "go"), retryRun: (client) => client.retryRun("run-1"),
      resolveActiveRunApprovals: (client) => client.resolveActiveRunApprovals("s", []),
      resolveSessionApprovals: (client) => client.resolveSessionApprovals("s", []),
      answerSessionQuestion: (client) => client.answerSessionQuestion("s", { request_id: "go", declined: true }),
      sendInput: (client) => client.sendInput("s", {}),
      endSession: (client) => client.endSession("s"), addRule: (client) => client.addRule({ effect: "deny", match: {} }),
      createRun: (client) => client.createRun({}), createSessionRun: (client) => client.createSessionRun("s", {}),
      createSession: (client) => client.createSession(), getSession: (client) => client.getSession("s"),
      amendSession: (client) => client.amendSession("s", {}), getRequest: (client) => client.getRequest("h"),
      acknowledgeRequest: (client) => client.acknowledgeRequest("h", "acknowledged"), explainRequest: (client) => client.explainRequest("h"),
      explainRun: (client) => client.explainRun("run-1"), listRuns: (client) => client.listRuns(), listWorkers: (client) => client.listWorkers(),
      getRule: (client) => client.getRule("rule-1"), explainRules: (client) => client.explainRules({ tool_name: "rm" }),
      replayMessage: (client) => client.replayMessage("s", "m"), retryEffect: (client) => client.retryEffect("s", "e"), me: (client) => client.me(),
      listTokens: (client) => client.listTokens(), getToken: (client) => client.getToken("t"), keys: (client) => client.keys(),
      version: (client) => client.version(), listWebhooks: (client) => client.listWebhooks(), getWebhook: (client) => client.getWebhook("w"),
      changeWebhook: (client) => client.changeWebhook("w", {}), replayWebhook: (client) => client.replayWebhook("w"),
      listChannels: (client) => client.listChannels(), listAddresses: (client) => client.listAddresses(), getPush: (client) => client.getPush(),
      subscribePush: (client) => client.subscribePush({}), setQuietHours: (client) => client.setQuietHours({}), listAudit: (client) => client.listAudit(),
      redact: (client) => client.redact("s", "a person asked for it"),
      deadLetters: (client) => client.deadLetters("s"), acknowledgeMessage: (client) => client.acknowledgeMessage("s", "m"),
      listSessionEvents: (client) => client.listSessionEvents("s"), listRunEvents: (client) => client.listRunEvents("run-1"),
      allRunEvents: (client) => client.allRunEvents("run-1").next(), allOutputs: (client) => client.allOutputs("run-1").next(),
    };
    const once = {
      createToken: (client) => client.createToken({}), rotateToken: (client) => client.rotateToken("t", 0),
      createStreamTicket: (client) => client.createStreamTicket("/v1/stream"), createWebhook: (client) => client.createWebhook({}),
      rotateWebhook: (client) => client.rotateWebhook("w"), testWebhook: (client) => client.testWebhook("w"),
      testChannel: (client) => client.testChannel("mail", "ada@example.com"), addAddress: (client) => client.addAddress("mail", "ada@example.com"),
      verifyAddress: (client) => client.verifyAddress("a", "123456"),
      mailbox: (client) => client.mailbox("s"), interruptSession: (client) => client.interruptSession("s"),
    };
    const lists = new Set(["mailbox", "deadLetters", "listSessionEvents", "listRunEvents", "allRunEvents"]);
    for (const [name, call] of [...Object.entries(calls), ...Object.entries(once)]) {
      // Every path ends with "".
      const service = new Service({ "": [{}, "null", lists.has(name) ? "7" : "[]", [204]] });
      const error = await call(service.client).catch((error) => error);
      same([name, isKind(error, "unavailable"), error.message?.endsWith("the outcome is not known")], [name, true, true]);
      same([name, new Set(service.bodies[""]).size], [name, 1]); // each attempt is the same call
      same([name, service.bodies[""].length], [name, name in once ? 1 : 4]);
    }
  },

  async "a call whose repetition is refused is made once"() {
    for (const call of [(client) => client.removeWebhook("w"), (client) => client.removeAddress("a")]) {
      const service = new Service({ "": [page, [204]] });
      const error = await call(service.client).catch((error) => error);
      same([isKind(error, "unavailable"), service.bodies[""].length], [true, 1]);
    }
    const service = new Service({ "": [page, [204]] });
    await service.client.clearQuietHours();
    same(service.bodies[""].length, 2);
  },

  async "a full mailbox is reported to the handler, which alone empties it"() {
    for (const park of [true, false]) {
      const service = new Service({ clarifications: [[429, { code: "mailbox_full" }]] });
      const codes = [];
      await service.work(async (task) => {
        await task.askParent({ park, request: { id: "which", questions: [] } }).catch((error) => codes.push(error.code));
      }, service.called("complete"), unrenewed);
      same(codes, ["mailbox_full"]);
    }
  },

  async "an output that is refused fails the run once"() {
    const circular = {};
    circular.itself = circular;
    for (const [output, complete] of [[1, [413, { code: "body_too_large" }]], [circular, run], [() => 1, run], [NaN, run]]) {
      const service = new Service({ complete: [complete] });
      const reported = await service.work(() => output, service.called("fail"));
      same(reported.map((error) => error instanceof AttemptError && error.last), [true]);
      same(JSON.parse(service.bodies.fail[0]).error.startsWith("output: "), true);
    }
  },

  async "the text of a failure is what the service accepts"() {
    const service = new Service();
    await service.work(() => {
      throw new Error(`\u0000\ud800${"é".repeat(1 << 20)}`);
    }, service.called("fail"), { maxAttempts: 1 });
    const { error } = JSON.parse(service.bodies.fail[0]);
    same(error, `\uFFFD${"é".repeat(8190)}`);
  },

  async "what has no text fails the run all the same"() {
    const unreadable = Object.defineProperty(new Error(), "message", { get() { throw new Error("unreadable"); } });
    const without = "failed without a text";
    for (const [thrown, text] of [[Object.create(null), without], [unreadable, without], [Object.assign(new Error(), { message: 7 }), "7"], ["", without], [undefined, "undefined"]]) {
      const service = new Service();
      const reported = await service.work(() => { throw thrown; }, service.called("fail"), { maxAttempts: 1 });
      same([JSON.parse(service.bodies.fail[0]).error, reported.map((error) => error instanceof AttemptError)], [text, [true]]);
    }
    const service = new Service();
    const reported = await service.work(async (task) => {
      await task.complete(1);
      throw Object.create(null);
    }, service.called("complete"));
    same(reported.map((error) => error.message), [`run run-1: handler failed after it had ended the run: ${without}`]);
  },

  async "an id that is not text is refused"() {
    const service = new Service();
    const error = await service.client.getRun("\ud800").catch((error) => error);
    same(isKind(error, "invalid"), true);
  },

  async "a failed renewal is repeated before the lease ends"() {
    const real = globalThis.setTimeout;
    const asked = [];
    globalThis.setTimeout = (work, ms, ...more) => {
      asked.push(ms);
      return real(work, ms, ...more);
    };
    try {
      const lost = signal();
      const service = new Service({ heartbeat: [[500, { code: "internal" }]] });
      await service.work(async (task) => {
        task.signal.addEventListener("abort", lost.set);
        await lost.done;
      }, lost.done, { heartbeatMs: 900 });
    } finally {
      globalThis.setTimeout = real;
    }
    same(asked.includes(900), true);
    same(asked.includes(225), false);
  },

  async "a report that fails changes nothing"() {
    const refused = [500, { code: "internal" }];
    const ways = [(error) => error.cause.run.id, async (error) => error.cause.run.id];
    for (const fails of ways) {
      const reported = [];
      const renewed = signal();
      const thirdBeat = () => {
        renewed.set();
        return beat;
      };
      const onError = (error) => {
        reported.push(error.message);
        return fails(error);
      };
      const service = new Service({ claim: [refused, { claims: [claim] }, hold], heartbeat: [refused, beat, thirdBeat] });
      const printed = console.error;
      console.error = () => {};
      try {
        await service.work(async () => {
          await renewed.done;
          throw new Error("no such file");
        }, service.called("fail"), { maxAttempts: 1, onError });
      } finally {
        console.error = printed;
      }
      same(service.bodies.fail, ['{"fence":"f","error":"no such file"}']);
      same(reported.length, 3);
    }
  },

  async "a report that never ends holds up no run"() {
    const lost = [409, { code: "lease_lost" }];
    const service = new Service({ heartbeat: [lost] });
    const over = signal();
    await service.work((task) => new Promise((resolve) => task.signal.addEventListener("abort", resolve)), over.done, {
      onError: () => {
        over.set();
        return new Promise(() => {});
      },
    });
  },

  async "a known decision allows nothing without the lease"() {
    const request = { id: "go", tool_name: "rm", input: 1 };
    const settled = { request, resolution: { outcome: "allowed", behavior: "allow" }, settled_number: "1" };
    const real = performance.now.bind(performance);
    for (const [kind, heartbeat, heartbeatMs] of [["cancelled", { ...beat, cancel_requested: true }, 1], ["lease_lost", beat, 29_000], ["suspended", beat, 29_000]]) {
      const known = { ...claim, resume: { suspension_id: "s", approvals: [settled], questions: [] } };
      const service = new Service({ claim: [{ claims: [known] }, hold], heartbeat: [heartbeat], suspend: [{ run }] });
      const over = signal();
      const refused = [];
      try {
        await service.work(async (task) => {
          same((await task.approve(request)).outcome, "allowed");
          // As after a call that kept the event loop busy: no renewal has noticed.
          if (kind === "lease_lost") performance.now = () => real() + 60_000;
          else if (kind === "suspended") await task.suspend({ approvals: [{ ...request, id: "other" }] }).catch(() => {});
          else await new Promise((resolve) => task.signal.addEventListener("abort", resolve));
          for (const call of [() => task.approve(request), () => task.suspend({ approvals: [request] })]) {
            refused.push(await call().then(() => false, (error) => isKind(error, kind)));
          }
          over.set();
        }, over.done, { leaseMs: 30_000, heartbeatMs });
      } finally {
        delete performance.now;
      }
      same(refused, [true, true]);
    }
  },

  async "a decision that comes with a cancel allows nothing"() {
    const request = { id: "go", tool_name: "rm", input: 1 };
    const settled = { request, resolution: { outcome: "allowed", behavior: "allow" }, settled_number: "1" };
    const resume = [{ settled: [settled], after: "1", open: 0, cancel_requested: true }];
    for (const [reply, wait] of [
      [{ run }, (task) => task.approve(request)],
      [[409, { code: "id_conflict" }], (task) => task.suspend({ approvals: [request] })],
    ]) {
      const service = new Service({ suspend: [reply], resume, "run-1": [run] });
      const over = signal();
      let refused;
      await service.work(async (task) => {
        refused = await wait(task).then(() => false, (error) => isKind(error, "cancelled"));
        over.set();
      }, over.done, unrenewed);
      same(refused, true);
    }
  },

  async "null is no checkpoint"() {
    const service = new Service();
    await service.work(async (task) => {
      for (const checkpoint of [null, undefined, 0]) await task.saveCheckpoint(checkpoint);
    }, service.called("complete"), unrenewed);
    same(service.bodies.heartbeat, ['{"fence":"f","lease_ms":60000}', '{"fence":"f","lease_ms":60000}', '{"fence":"f","lease_ms":60000,"checkpoint":0}']);
  },

  async "a sensitive request that is open is adopted"() {
    const request = { id: "go", tool_name: "psql", tool_call_id: "go", input: { password: "secret" }, sensitive_paths: ["/password"] };
    const settled = { request, resolution: { outcome: "allowed", behavior: "allow" }, settled_number: "1" };
    const outcomes = [];
    for (const [tool_name, password, directory] of [["psql", "secret"], ["psql", "other"], ["rm", "secret"], ["psql", "secret", "/elsewhere"]]) {
      const service = new Service({
        suspend: [[409, { code: "id_conflict" }]], "run-1": [{ ...run, pending_approvals: [{ ...request, input: { password: { sensitive: true } } }] }],
        resume: [{ settled: [settled], after: "1", open: 0, cancel_requested: false }],
      });
      await service.work(async (task) => {
        const error = await task.approve({ id: "go", tool_name, input: { password }, directory }).then(() => undefined, (error) => error);
        outcomes.push([error !== undefined && isKind(error, "id_conflict"), service.bodies.resume?.length ?? 0]);
      }, service.called("complete"));
    }
    same(outcomes, [[false, 1], [true, 1], [true, 0], [true, 0]]);
  },

  async "an answer is for the options that were shown"() {
    const question = (option) => ({ id: "go", questions: [{ id: "q", question: "Where to?", options: [{ id: "o", label: "A", ...option }] }] });
    const request = question({ description: "staging" });
    const settled = { request, resolution: { outcome: "answered", answers: [{ question_id: "q", selected_option_ids: ["o"] }] } };
    const outcomes = [];
    const service = new Service({ claim: [{ claims: [{ ...claim, resume: { suspension_id: "s", approvals: [], questions: [settled] } }] }, hold] });
    await service.work(async (task) => {
      for (const option of [{ description: "production" }, {}, { description: "staging", preview: "x" }, { description: "staging", preview: "" }]) {
        const error = await task.ask(question(option)).then(() => undefined, (error) => error);
        outcomes.push(error !== undefined && isKind(error, "id_conflict"));
      }
    }, service.called("complete"));
    same(outcomes, [true, true, true, false]);
  },

  async "a decision on a later page is found"() {
    const settled = (id, number) => ({ request: { id, tool_name: "rm", input: 1 }, resolution: { outcome: "allowed", behavior: "allow" }, settled_number: number });
    const calls = { approve: (task) => task.approve({ id: "go", tool_name: "rm", input: 1 }), suspend: (task) => task.suspend({ approvals: [{ id: "go", tool_name: "rm", input: 1 }] }) };
    for (const call of Object.values(calls)) {
      // A request stays open, so that the last page has no decisions.
      const service = new Service({
        suspend: [[409, { code: "id_conflict" }]], "run-1": [run],
        resume: [["1", [settled("first", "1")]], ["3", [settled("go", "3")]], ["3", []]].map(([after, settled]) => ({ after, settled, open: 1, cancel_requested: false })),
      });
      const reported = await service.work((task) => call(task), service.called("complete"));
      same(reported, []);
      same(service.targets.filter((target) => target.includes("/resume")).map((target) => new URL(target, "http://x").searchParams.get("after")), ["0", "1", "3"]);
    }
  },

  async "a reply with the decisions of another suspension is not taken"() {
    const other = { request: { id: "other", tool_name: "rm", input: 1 }, resolution: { outcome: "allowed", behavior: "allow" } };
    const resume = { suspension_id: "other", approvals: [other], questions: [] };
    const service = new Service({ suspend: [{ run: { ...run, lease: claim.lease }, resume }] });
    const handler = (task) => task.suspend({ suspension_id: "own", approvals: [{ id: "go", tool_name: "rm", input: 1 }] });
    const ended = Promise.race([service.called("fail"), service.called("complete")]);
    const reported = await service.work(handler, ended, { maxAttempts: 1 });
    same(reported.map((error) => error instanceof AttemptError), [true]);
  },

  async "a checkpoint includes the decisions of rules"() {
    const allowed = (id) => ({ request: { id, tool_name: "rm", input: 1 }, resolution: { outcome: "allowed", behavior: "allow" } });
    const ruled = (id) => ({ run, resume: { suspension_id: id, approvals: [allowed(id)], questions: [] } });
    const page = (after, decisions) => ({ after, settled: Object.entries(decisions).map(([number, id]) => ({ ...allowed(id), settled_number: number })), open: 0, cancel_requested: false });
    const service = new Service({
      suspend: [ruled("first"), { run }, ruled("second"), ruled("third"), { run }], resume: [page("1", { 1: "first" }), hold, page("3", { 2: "second", 3: "open" }), page("4", { 4: "third" })],
    });
    const polled = signal();
    service.routes.resume[1] = (...given) => (polled.set(), hold(...given));
    const outcomes = [];
    await service.work(async (task) => {
      const ask = (id) => task.approve({ id, tool_name: "rm", input: 1 });
      await ask("first");
      for (const step of [1, 2]) await task.saveCheckpoint(step);
      const open = ask("open");
      await polled.done;
      await ask("second");
      await task.saveCheckpoint(3); // the page for it has the decision about the open request, too
      outcomes.push((await open).outcome);
      await task.saveCheckpoint(4);
      await ask("third");
      await task.suspend({ approvals: [{ id: "last", tool_name: "rm", input: 1 }], checkpoint: 5 });
    }, new Promise((resolve) => (service.routes.suspend[4] = () => (resolve(), { run }))), unrenewed);
    same(outcomes, ["allowed"]);
    same([...service.bodies.heartbeat, service.bodies.suspend[4]].map((body) => JSON.parse(body).settled_after), ["1", "1", "2", "3", "4"]);
    same(service.bodies.resume.length, 4);
  },

  async "a function is no checkpoint"() {
    const service = new Service();
    await service.work(async (task) => {
      for (const checkpoint of [() => 1, Symbol("step")]) {
        for (const store of [
          () => task.saveCheckpoint(checkpoint), () => task.suspend({ approvals: [{ id: "go", tool_name: "rm", input: 1 }], checkpoint }),
          () => task.askParent({ park: true, request: { id: "which" }, checkpoint }),
        ]) {
          same(isKind(await store().catch((error) => error), "invalid"), true);
        }
      }
    }, service.called("complete"), unrenewed);
    same(service.bodies.heartbeat, undefined);
  },

  async "what a handler changes during a call is recorded as it was"() {
    const approval = { id: "go", tool_name: "rm", tool_call_id: "go", input: 1 };
    const resume = { suspension_id: "s", approvals: [{ request: approval, resolution: { outcome: "allowed", behavior: "allow" }, settled_number: "1" }], questions: [] };
    const recorded = [];
    for (const later of [1, 2]) {
      const service = new Service({ suspend: [{ run: { ...run, lease: claim.lease }, resume }], events: [{ last_event_id: "1" }] });
      await service.work(async (task) => {
        const [event, saved, suspended] = [{ type: "step", number: 1 }, { number: 1 }, { number: 1 }];
        for (const [value, call] of [
          [event, () => task.emit(...Array(257).fill(event))], [saved, () => task.saveCheckpoint(saved)],
          [suspended, () => task.suspend({ suspension_id: "s", approvals: [approval], checkpoint: suspended })],
        ]) {
          const called = call();
          value.number = later;
          await called;
          await task.output("goes on");
        }
      }, service.called("complete"), unrenewed);
      recorded.push([service.bodies.events, service.heads.events.map((head) => head["Idempotency-Key"]), service.bodies.heartbeat, service.bodies.suspend]);
    }
    same(recorded[0], recorded[1]);
    same(recorded[1][0].length, 5);
  },

  async "a run id that is used again has other keys"() {
    const keys = [];
    for (const submitted_at_ms of [1, 2, 2]) {
      const service = new Service({ claim: [{ claims: [{ ...claim, run: { ...run, submitted_at_ms } }] }, hold], events: [{ last_event_id: "1" }] });
      await service.work((task) => task.output("begins"), service.called("complete"));
      keys.push(...service.heads.events.map((head) => head["Idempotency-Key"]));
    }
    same([keys.length, new Set(keys).size, keys[1] === keys[2]], [3, 2, true]);
  },

  async "a checkpoint of a settled suspension repeats no events"() {
    const approval = { id: "go", tool_name: "rm", tool_call_id: "go", input: 1 };
    const resume = { suspension_id: "s", approvals: [{ request: approval, resolution: { outcome: "allowed", behavior: "allow" }, settled_number: "1" }], questions: [] };
    const service = new Service({
      claim: [{ claims: [claim] }, { claims: [{ ...claim, checkpoint: { step: 1 }, resume }] }, hold],
      suspend: [{ run: { ...run, lease: claim.lease }, resume }], events: [{ last_event_id: "1" }],
    });
    let crashed = false;
    await service.work(async (task) => {
      await task.suspend({ approvals: [approval], checkpoint: { step: 1 } });
      await task.output("works");
      if (crashed) return;
      crashed = true;
      throw new Error("crash");
    }, service.called("complete"));
    const keys = service.heads.events.map((head) => head["Idempotency-Key"]);
    same([keys.length, keys[0] === keys[1]], [2, true]);
  },

  async "a call that ends the run ends with the lease"() {
    const handlers = { complete: () => 1, suspend: (task) => task.suspend({ approvals: [{ id: "go", tool_name: "rm", input: 1 }] }) };
    for (const [route, handler] of Object.entries(handlers)) {
      const service = new Service({ [route]: [gateway], heartbeat: [gateway] });
      const reported = await service.work(handler, service.called(route));
      same(reported.some((error) => isKind(error, "lease_lost")), true);
    }
  },

  async "the time of day does not change the lease"() {
    const real = Date.now;
    try {
      for (const jump of [-3_600_000, 3_600_000]) {
        let at = 0;
        Date.now = () => real() + at;
        const renewed = signal();
        const lost = signal();
        const count = { beats: 0 };
        const service = new Service({
          heartbeat: [async () => {
            const last = ++count.beats >= 3;
            if (last || jump > 0) at = jump;
            if (!last) return beat;
            renewed.set();
            return gateway;
          }],
        });
        const seen = { early: undefined };
        await service.work(async (task) => {
          task.signal.addEventListener("abort", lost.set);
          await renewed.done;
          seen.early = task.signal.aborted;
          await lost.done;
        }, lost.done);
        same(seen.early, false);
      }
    } finally {
      Date.now = real;
    }
  },

  async "a lease outlasts a long Retry-After"() {
    const real = globalThis.setTimeout;
    const paused = [];
    // No time passes in the pause, which is a sixth of the lease or what the service asks for.
    globalThis.setTimeout = (work, ms, ...more) => {
      const pauses = ms === 10_000 || ms === 3_600_000;
      if (pauses) paused.push(ms);
      return real(work, pauses ? 0 : ms, ...more);
    };
    try {
      const renewed = signal();
      const away = () => new Response("{}", { status: 503, headers: { "Retry-After": "3600" } });
      const service = new Service({ heartbeat: [away, () => (renewed.set(), beat), beat] });
      const client = new Holdpoint({ baseUrl: "http://holdpoint.test", fetch: service.fetch, retry: { ...retry, maxRetryAfterMs: 3_600_000 } });
      const reported = await service.work(() => renewed.done, service.called("complete"), { leaseMs: 60_000, heartbeatMs: 10 }, client);
      same([paused, reported], [[10_000], []]);
    } finally {
      globalThis.setTimeout = real;
    }
  },

  async "a wait outlasts a long Retry-After"() {
    const snapshot = 'event: snapshot\nid: 1\ndata: {"status": "running"}\n\n';
    const event = 'event: completed\nid: 2\ndata: {"id": "2", "run_id": "run-1", "event": {"type": "completed"}}\n\n';
    const service = new Service({ "run-1": [[503, {}], [429, {}], run, { ...run, status: "completed" }], stream: [snapshot, [503, {}], [429, {}], event] });
    same((await service.client.waitRun("run-1")).status, "completed");
    service.routes["run-1"] = [run];
    const types = [];
    for await (const item of service.client.streamRun("run-1")) types.push(item.type);
    same(types, ["snapshot", "event"]);
  },

  async "a wait outlasts a proxy without a backend"() {
    const pages = [404, 500, 302, 408].map((status) => [status, page]);
    const snapshot = 'event: snapshot\nid: 1\ndata: {"status": "running"}\n\n';
    const event = 'event: completed\nid: 2\ndata: {"id": "2", "run_id": "run-1", "event": {"type": "completed"}}\n\n';
    const service = new Service({ "run-1": [run, ...pages, { ...run, status: "completed" }], stream: [snapshot, ...pages, event] });
    same((await service.client.waitRun("run-1")).status, "completed");
    service.routes["run-1"] = [run];
    const types = [];
    for await (const item of service.client.streamRun("run-1")) types.push(item.type);
    same(types, ["snapshot", "event"]);
    // Before the first reply the URL may be wrong.
    for (const call of [(client) => client.waitRun("run-1"), (client) => client.streamRun("run-1").next()]) {
      const error = await call(new Service({ "": [[404, page], snapshot] }).client).catch((error) => error);
      same(isKind(error, "not_found"), true);
    }
  },

  async "an id that the service would ignore is refused"() {
    for (const after of ["007", "+5", "-1", "5.", "5.abcdef", "5.ABCDEF0", "5.abcdefg", " 5", "5\n", "9223372036854775808"]) {
      const service = new Service({ stream: ['event: snapshot\nid: 6\ndata: {"status": "running"}\n\n'] });
      const error = await service.client.streamRun("run-1", { after }).next().catch((error) => error);
      same([after, isKind(error, "invalid"), service.targets], [after, true, []]);
    }
    for (const after of ["0", "1", "2.abcdef0", `2.${"0".repeat(64)}`, "999999999999999999"]) {
      const service = new Service({ stream: ['event: stream_gap\ndata: {"reason": "ahead"}\n\n'] });
      same([after, (await service.client.streamRun("run-1", { after }).next()).value.reason], [after, "ahead"]);
    }
  },

  async "the stream of the inbox says once that its connection is lost"() {
    const snapshot = 'event: snapshot\ndata: {"pending_approvals": [], "pending_questions": []}\n\n';
    const service = new Service({ stream: [snapshot, [503, {}], [503, {}], snapshot] });
    const items = service.client.streamInbox();
    const said = [];
    while (said.length < 3) said.push((await items.next()).value);
    same(said.map((item) => item.reason ?? item.type), ["snapshot", "lost", "snapshot"]);
  },

  async "every attempt sends the same body"() {
    const output = { state: "first" };
    const changes = () => {
      output.state = "second";
      return gateway;
    };
    for (const idempotencyKey of ["key", "schlüssel"]) {
      const service = new Service({ runs: [changes, run] });
      await new Holdpoint({ baseUrl: "http://holdpoint.test", fetch: service.fetch, retry: { ...retry, maxRetryAfterMs: 2_000 } }).createRun({ input: output }, { idempotencyKey });
      same(service.bodies.runs[1], service.bodies.runs[0]);
    }
  },

  async "a time without an end is not a short one"() {
    const real = globalThis.setTimeout;
    const asked = [];
    globalThis.setTimeout = (work, ms, ...more) => {
      asked.push(ms ?? 0);
      return real(work, ms, ...more);
    };
    try {
      const service = new Service();
      const client = new Holdpoint({ baseUrl: "http://holdpoint.test", fetch: service.fetch, timeoutMs: Infinity, retry: { ...retry, maxRetryAfterMs: Infinity } });
      await new Worker(client, { drainMs: Infinity, onError: () => {} }).run(() => 1, { signal: AbortSignal.abort() });
      await client.completeRun("run-1", "f");
    } finally {
      globalThis.setTimeout = real;
    }
    same(asked.filter((ms) => ms > 2 ** 31 - 1), []);
    same(asked.filter((ms) => ms > 1e9).length, 2);
  },

  async "a long-lived signal keeps nothing of what is over"() {
    const stop = new AbortController();
    let listeners = 0;
    for (const signal of [stop.signal]) {
      const { addEventListener, removeEventListener } = signal;
      signal.addEventListener = (...given) => (listeners++, addEventListener.apply(signal, given));
      signal.removeEventListener = (...given) => (listeners--, removeEventListener.apply(signal, given));
    }
    const settled = { request: { id: "go", tool_name: "rm", input: 1 }, resolution: { outcome: "allowed", behavior: "allow" } };
    const count = 20;
    const done = signal();
    const service = new Service({
      claim: [...Array(count).fill({ claims: [claim] }), hold],
      suspend: [{ run: { ...run, lease: {} }, resume: { suspension_id: "s", approvals: [settled], questions: [] } }],
    });
    let handled = 0;
    const running = new Worker(service.client, { concurrency: 1, onError: console.log }).run(async (task) => {
      await task.approve({ id: "go", tool_name: "rm", input: 1 }, { signal: stop.signal });
      if (++handled === count) done.set();
    }, { signal: stop.signal });
    await done.done;
    same(listeners <= 4, true);
    stop.abort();
    await running;
  },

  async "a reply without an end is refused"() {
    let sent = 0;
    const endless = new ReadableStream({
      pull(controller) {
        sent++;
        controller.enqueue(new Uint8Array(1 << 20).fill(32));
      },
    });
    const client = new Holdpoint({ baseUrl: "http://holdpoint.test", fetch: async () => new Response(endless), retry });
    const error = await client.getRun("run-1").catch((error) => error);
    same(error instanceof HoldpointError && !isKind(error, "unavailable"), true);
    same(sent < 100, true);
  },
};

let failed = 0;
for (const [name, test] of Object.entries(cases)) {
  const limit = new Promise((_, reject) => setTimeout(() => reject(new Error("it goes on")), 20_000));
  await Promise.race([test(), limit]).catch((error) => {
    failed++;
    console.log(`${name}: ${error.stack}`);
  });
}
console.log(`${Object.keys(cases).length} cases, ${failed} failed`);
process.exit(0);
