// Has the TypeScript SDK meet what a real service and its network do only now and then: each case has a service of its own, which
// answers as the case says.
import { AttemptError, Holdpoint, HoldpointError, Worker, isKind } from "@holdpoint/sdk";

const retry = { baseDelayMs: 1, maxDelayMs: 1, maxRetryAfterMs: 1 };
const run = { run_id: "run-1", session_id: "s", status: "running" };
const claim = { run, input: {}, attempt: 1, lease: { fence: "f", worker_id: "w", expires_at_ms: 0 } };
const beat = { cancel_requested: false, expires_at_ms: 0 };
const page = "<html>We are back soon</html>";
const gateway = [502, { code: 502, message: "no backend" }];
const hold = (_body, signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));

// Answers each call by the first route whose name ends its path: with the next of its answers, the last of them for good. An answer is
// a document, a text, a pair of a status and one of these, or a function of the call's body and signal.
class Service {
  bodies = {};
  #called = {};

  constructor(routes = {}) {
    this.routes = { claim: [{ claims: [claim] }, hold], heartbeat: [beat], complete: [run], fail: [run], release: [run], ...routes };
  }

  fetch = async (url, { body, signal }) => {
    const path = new URL(url).pathname;
    const name = Object.keys(this.routes).find((name) => path.endsWith(name));
    const answers = this.routes[name];
    let given = answers.length > 1 ? answers.shift() : answers[0];
    (this.bodies[name] ??= []).push(body);
    this.#event(name).set();
    await new Promise((resolve) => setTimeout(resolve)); // no reply comes at once
    signal.throwIfAborted();
    if (typeof given === "function") given = await given(body, signal);
    const [status, document] = Array.isArray(given) ? given : [200, given];
    return new Response(typeof document === "string" ? document : JSON.stringify(document), { status, headers: { "Retry-After": "1" } });
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
  async work(handler, until, options = {}) {
    const reported = [];
    const worker = new Worker(this.client, { leaseMs: 1000, heartbeatMs: 10, retryDelayMs: 0, onError: (error) => reported.push(error), ...options });
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
      claim: [page, gateway, "", "7", { claims: [claim] }, hold], heartbeat: [page, gateway, thirdBeat, beat], suspend: [page, { run }],
      resume: [page, gateway, { settled: [settled], after: "1", open: 0, cancel_requested: false }], complete: [page, gateway, run],
    });
    const reported = await service.work(async (task) => {
      await renewed.done;
      return await task.approveInput({ id: "go", tool_name: "rm", input: 1 });
    }, service.called("complete"));
    same(service.bodies.complete, Array(3).fill('{"fence":"f","output":1}'));
    same(reported.filter((error) => !(error instanceof HoldpointError)), []);
  },

  async "a reply of another shape ends the wait"() {
    const service = new Service({ suspend: [{ run }], resume: [{ settled: 7 }] });
    const reported = await service.work((task) => task.approve({ id: "go", tool_name: "rm", input: 1 }), service.called("fail"), { maxAttempts: 1 });
    same(reported[0] instanceof AttemptError, true);
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
