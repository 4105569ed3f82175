import { HoldpointError, ProblemError, UnavailableError, afterLost, invalid, isKind, isTransient } from "./errors.js";
import { decodeJSON, encodeJSON } from "./json.js";
import { Pauses, type RetryPolicy, longestTimer, withDefaults } from "./retry.js";

/** The longest wait that the service accepts in a Prefer header. */
export const maxWaitMs = 60_000;

/** What a call may be given besides its arguments. */
export interface CallOptions {
  /** Ends the call with the signal's reason. A call that changes something may have taken effect. */
  signal?: AbortSignal | undefined;
}

/** What a call that is kept apart by an idempotency key may be given. */
export interface KeyedOptions extends CallOptions {
  /** Made when absent, and kept over the retries. Give one of your own to let a later process repeat the call. */
  idempotencyKey?: string | undefined;
}

export interface HoldpointOptions {
  /** Such as "http://127.0.0.1:4000"; a path in it is put before every route. */
  baseUrl: string;
  /** A bearer token, sent with every call. */
  token?: string;
  /** Who makes the decisions: sent as X-Actor, recorded as resolved_by where the service lets the caller say so. */
  actor?: string;
  /** The program that makes the decisions: sent as X-Via, recorded as via. */
  via?: string;
  retry?: RetryPolicy;
  /** How long one attempt may take beyond the wait it asks for; 30,000 by default. */
  timeoutMs?: number;
  /** Used in place of the global fetch. */
  fetch?: typeof globalThis.fetch;
}

/** When a call may be sent again: never, only when it certainly had no effect, or always. */
export type Repeatable = "never" | "if_not_taken" | "always";

/** Query parameters in which an empty value means the beginning. */
const positions = new Set(["cursor", "after"]);

export interface Call {
  method: string;
  path: string;
  query?: Record<string, string | number | boolean | undefined>;
  body?: unknown;
  key?: string | undefined;
  /** Asks for a reply that is held for so long. */
  preferMs?: number | undefined;
  /** How long the service may hold the reply, when not preferMs. */
  heldMs?: number | undefined;
  repeat: Repeatable;
  /**
   * The members that such a reply always has, or a function that names them for a reply. A reply without them, such as {} from a
   * proxy, is not the service's.
   */
  needs?: readonly string[] | ((reply: object) => readonly string[]) | undefined;
  /** The reply is a list, and not a document with members. */
  list?: boolean;
  signal?: AbortSignal | undefined;
}

export interface Reply<T> {
  value: T;
  status: number;
  /** The idempotency key had been used for the same call. */
  replayed: boolean;
  /** A list goes on after what the reply has. */
  more: boolean;
}

/** Sends calls and repeats them where that is safe and may help. */
export class Transport {
  readonly retry: Required<RetryPolicy>;
  readonly options: HoldpointOptions;
  readonly #base: string;
  readonly #headers: Record<string, string>;
  readonly #timeoutMs: number;
  readonly #fetch: typeof globalThis.fetch;
  #patient = false;

  constructor(options: HoldpointOptions) {
    this.options = options;
    let url: URL;
    try {
      url = new URL(options.baseUrl);
    } catch (cause) {
      throw invalid(`baseUrl ${JSON.stringify(options.baseUrl)} is not a URL`, { cause });
    }
    if (url.protocol !== "http:" && url.protocol !== "https:") throw invalid("baseUrl must begin with http:// or https://");
    if (url.username || url.password) throw invalid("baseUrl must not hold credentials");
    if (url.search || url.hash) throw invalid("baseUrl must have neither query nor fragment");
    this.#base = url.href.replace(/\/+$/, "");
    this.#headers = {};
    if (options.token !== undefined) {
      if (!/^[!-~]+$/.test(options.token)) throw invalid("token must be printable ASCII without spaces");
      this.#headers["Authorization"] = `Bearer ${options.token}`;
    }
    if (options.actor !== undefined) this.#headers["X-Actor"] = headerText("actor", options.actor);
    if (options.via !== undefined) this.#headers["X-Via"] = headerText("via", options.via);
    this.#timeoutMs = options.timeoutMs ?? 30_000;
    // A browser refuses a fetch that is called as a method of something else.
    this.#fetch = options.fetch ?? ((...call) => globalThis.fetch(...call));
    this.retry = withDefaults(options.retry);
  }

  /**
   * Returns a transport for the calls of a run that is held by a lease. It repeats a call that is
   * safe to repeat until the call's signal is aborted, because an outage says nothing about the
   * run. An attempt without a reply, and a pause, are short next to the lease.
   */
  patiently(leaseMs: number): Transport {
    const maxDelayMs = Math.min(this.retry.maxDelayMs, Math.max(leaseMs / 10, this.retry.baseDelayMs));
    const timeoutMs = Math.min(this.#timeoutMs, Math.max(leaseMs / 2, 1_000));
    const maxRetryAfterMs = Math.min(this.retry.maxRetryAfterMs, leaseMs / 6);
    const patient = new Transport({ ...this.options, retry: { ...this.retry, maxDelayMs, maxRetryAfterMs }, timeoutMs });
    patient.#patient = true;
    return patient;
  }

  pauses(): Pauses {
    return new Pauses(this.retry);
  }

  async call<T>(call: Call): Promise<Reply<T>> {
    const pauses = this.pauses();
    // Encoded once: every attempt sends the same, even if the caller changes the value meanwhile.
    const sent: Call = { ...call, body: bodyOf(call) };
    let lost = false; // an earlier attempt may have taken effect
    try {
      for (let attempt = 1; ; attempt++) {
        try {
          return await this.#attempt<T>(sent);
        } catch (failure) {
          if (call.signal?.aborted) throw failure;
          if (this.#patient && call.repeat === "always" && isUnanswered(failure)) {
            await pauses.afterAnyway(failure, call.signal);
          } else {
            if (attempt >= this.retry.maxAttempts || !mayRepeat(call.repeat, failure)) throw failure;
            await pauses.after(failure, call.signal);
          }
          lost ||= call.method !== "GET" && !hadNoEffect(failure);
        }
      }
    } catch (failure) {
      if (lost) afterLost(failure);
      throw failure;
    }
  }

  async #attempt<T>(call: Call): Promise<Reply<T>> {
    const limit = this.#timeoutMs + (call.preferMs ?? call.heldMs ?? 0);
    const attempt = new Attempt(call.signal, limit);
    try {
      const response = await this.open(call, attempt.signal, "application/json");
      const text = await textOf(response);
      if (!response.ok) throw problem(response, text);
      if ((call.method === "DELETE" || (call.method === "PUT" && !call.needs)) && response.status !== 204) {
        // It does not say that a rule or a token was revoked, or that anything was recorded.
        throw new UnavailableError(`${call.method} ${call.path}: the reply has the status ${response.status}, so the outcome is not known`);
      }
      return {
        value: (response.status === 204 && !call.needs && !call.list ? undefined : documentIn(call, text)) as T,
        status: response.status,
        replayed: response.headers.get("Idempotency-Replayed")?.toLowerCase() === "true",
        more: response.headers.get("Link")?.includes('rel="next"') ?? false,
      };
    } catch (thrown) {
      throw attempt.explain(call, thrown);
    } finally {
      attempt.end();
    }
  }

  /** Sends a call, whose body is a text, once and returns when the head of the reply is there. */
  async open(call: Call, signal: AbortSignal, accept: string, more?: Record<string, string>): Promise<Response> {
    const url = new URL(this.#base + call.path);
    for (const [name, value] of Object.entries(call.query ?? {})) {
      // The service refuses an empty filter. Leaving it out would list everything instead.
      if (value !== undefined && !(value === "" && positions.has(name))) url.searchParams.set(name, String(value));
    }
    const headers: Record<string, string> = { ...this.#headers, ...more, Accept: accept };
    if (call.key !== undefined && fitsHeader(call.key)) headers["Idempotency-Key"] = call.key;
    if (call.body !== undefined) headers["Content-Type"] = "application/json";
    if (call.preferMs != null) headers["Prefer"] = `wait=${Math.ceil(Math.min(call.preferMs, maxWaitMs) / 1000)}`;
    return await this.#fetch(url.href, {
      method: call.method, headers, signal, redirect: "manual", credentials: "omit", cache: "no-store",
      body: call.body as string | undefined ?? null,
    });
  }
}

/** Whether a header carries a key unchanged. Otherwise it goes into the body. */
function fitsHeader(key: string): boolean {
  return /^[ !#-[\]-~]+$/.test(key) && key.trim() === key;
}

function bodyOf({ body, key }: Call): string | undefined {
  if (key !== undefined && !fitsHeader(key)) return encodeJSON({ ...(body as object), idempotency_key: key });
  return body === undefined ? undefined : encodeJSON(body);
}

const maxReplyBytes = 64 << 20;

/** Reads a reply, and refuses one that is too large: it would be as large again. */
export async function textOf(response: Response): Promise<string> {
  if (!response.body) return "";
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (let size = 0; ; ) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    size += value.length;
    if (size > maxReplyBytes) {
      await reader.cancel();
      throw new HoldpointError([], `the reply has more than ${maxReplyBytes} bytes`);
    }
    text += decoder.decode(value, { stream: true });
  }
}

/**
 * Whether a failure says nothing about what was called: the service could not be reached, could not
 * answer, or something in between answered in its place, such as a proxy that has no backend at the
 * moment, or that redirects to a page about maintenance (status 0 in a browser).
 */
export function isUnanswered(failure: unknown): boolean {
  if (failure instanceof ProblemError) {
    const { status, code } = failure;
    if (code === "mailbox_full") return false; // until the caller reads the mailbox
    if (status === 408) return true; // the service sends none
    if (code === "" && (status < 400 || status >= 500 || status === 404)) return true;
  }
  return isTransient(failure);
}

/** Whether a failed attempt certainly did not change anything. */
function hadNoEffect(failure: unknown): boolean {
  return isKind(failure, "rate_limited") || (failure instanceof UnavailableError && failure.notSent);
}

function mayRepeat(repeat: Repeatable, failure: unknown): boolean {
  if (repeat === "never") return false;
  if (hadNoEffect(failure)) return true;
  return repeat === "always" && isKind(failure, "unavailable");
}

/** An attempt ends with the caller's signal, or after its time. */
export class Attempt {
  readonly #controller = new AbortController();
  readonly #caller: AbortSignal | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #timedOut = false;

  constructor(caller: AbortSignal | undefined, limitMs: number) {
    caller?.throwIfAborted();
    this.#caller = caller;
    caller?.addEventListener("abort", this.#stop, { once: true });
    this.restart(limitMs);
  }

  readonly #stop = (): void => this.#controller.abort(this.#caller?.reason);

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Starts the timer again. */
  restart(limitMs: number): void {
    this.pause();
    this.#timer = setTimeout(() => {
      this.#timedOut = true;
      this.#controller.abort(new Error("time-out"));
    }, Math.min(limitMs, longestTimer));
  }

  pause(): void {
    clearTimeout(this.#timer);
  }

  end(): void {
    this.pause();
    this.#caller?.removeEventListener("abort", this.#stop);
  }

  /** Cuts the connection, if it is still there. */
  cut(): void {
    this.end();
    this.#controller.abort();
  }

  /** Returns what a caller is thrown. The URL is left out of the text: its query may hold a fence. */
  explain(call: Call, thrown: unknown): unknown {
    const where = `${call.method} ${call.path}`;
    if (this.#caller?.aborted) return this.#caller.reason;
    if (thrown instanceof HoldpointError) return thrown;
    if (this.#timedOut) return new UnavailableError(`${where}: no reply in time`, { cause: thrown });
    const cause = (thrown as { cause?: { code?: string } } | undefined)?.cause;
    const reason = cause instanceof Error ? cause.message : thrown instanceof Error ? thrown.message : String(thrown);
    const notSent = ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"].includes(cause?.code ?? "");
    return new UnavailableError(`${where}: ${reason || "the connection broke"}`, { cause: thrown, notSent });
  }
}

/** Returns the document of a reply. Anything else, such as a page that says "back soon", comes from something in between. */
function documentIn(call: Call, text: string): unknown {
  const where = `${call.method} ${call.path}`;
  let document: unknown;
  try {
    document = decodeJSON(text);
  } catch (cause) {
    throw new UnavailableError(`${where}: the reply is not JSON, so the outcome is not known`, { cause });
  }
  if (typeof document !== "object" || document === null || Array.isArray(document) !== (call.list === true)) {
    throw new UnavailableError(`${where}: the reply is not a ${call.list ? "list" : "document"}, so the outcome is not known`);
  }
  const needs = typeof call.needs === "function" ? call.needs(document) : call.needs;
  const lacks = needs?.find((name) => (document as Record<string, unknown>)[name] == null);
  if (lacks !== undefined) throw new UnavailableError(`${where}: the reply has no ${lacks}, so the outcome is not known`);
  return document;
}

/** Returns the error of a refusal, also one of a proxy without a problem document. */
export function problem(response: Response, text: string): ProblemError {
  // The form with a date is not read: it would depend on how two clocks agree.
  const seconds = /^\d{1,9}$/.exec(response.headers.get("Retry-After") ?? "")?.[0];
  let document: object = { detail: response.statusText };
  try {
    const parsed = decodeJSON(text);
    // A gateway has documents of its own, such as {"code": 502}.
    if (typeof parsed === "object" && parsed !== null && "code" in parsed && typeof parsed.code === "string") document = parsed;
  } catch {
    // The body is not a document of the service.
  }
  return new ProblemError(response.status, document, Number(seconds ?? 0) * 1000);
}

/** Joins a base and segments to a path, and refuses what would name another route. */
export function at(base: string, ...segments: string[]): string {
  for (const segment of segments) {
    if (typeof segment !== "string" || segment === "" || segment === "." || segment === ".." || /\p{Surrogate}/u.test(segment)) {
      throw invalid(`${JSON.stringify(segment)} is not an id (under ${base})`);
    }
  }
  return [base, ...segments.map(encodeURIComponent)].join("/");
}

function headerText(name: string, value: string): string {
  if (value.trim() === "" || /\p{C}/u.test(value)) throw invalid(`${name} must be printable text`);
  // fetch takes a byte for each character; the service reads UTF-8.
  return String.fromCharCode(...new TextEncoder().encode(value.trim()));
}

/** The idempotency key of a call that creates something: the caller's, or a new one, unless the body has an id or a key of its own. */
export function keyOf({ idempotencyKey }: KeyedOptions, body: { idempotency_key?: string }, id: string | undefined): string | undefined {
  return idempotencyKey ?? (id || body.idempotency_key ? undefined : randomUUID());
}

/** Makes the id of what a call creates, unless the body has a key, from which the service makes it. */
export function idUnlessKeyed(prefix: string, body: { idempotency_key?: string }): string | undefined {
  return body.idempotency_key ? undefined : newID(prefix);
}

/** Makes an identifier. */
export function newID(prefix: string): string {
  return `${prefix}_${randomUUID()}`;
}

/** crypto.randomUUID, which browsers have on secure pages alone. */
export function randomUUID(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6]! & 0x0f) | 0x40;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
