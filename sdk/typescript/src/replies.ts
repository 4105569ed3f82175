import { UnavailableError } from "./errors.js";
import { type CallOptions, type Reply, type Transport, at } from "./http.js";
import type * as doc from "./types.js";

/** Members that are left out choose all. */
export interface PageOptions extends CallOptions {
  /** 1 to 100. */
  limit?: number;
  /** The `pagination.next_cursor` of the page before. */
  cursor?: string;
}

export interface PendingListOptions extends PageOptions {
  /** An unknown session has none. */
  sessionId?: string;
  /** With `sessionId`: also those of the sessions below it, its children, their children, and so on. */
  below?: boolean;
}

export interface EventListOptions extends CallOptions {
  /** The id of the last event already seen. */
  after?: string;
  /** At most 1,000. */
  limit?: number;
}

/** A run after a call, and whether that call was a repeat. */
export type RunResult = doc.RunView & { readonly replayed: boolean };

/** A session after a call, and whether that call was a repeat. */
export type SessionResult = doc.SessionView & { readonly replayed: boolean };

export interface CreatedRun {
  run: doc.RunView;
  /** Set when the body asked for one and the run has the lease that the call took. */
  claim?: doc.Claim;
  /** The idempotency key had been used for the same call. */
  replayed: boolean;
  /** A run with this id and payload was there. */
  existing: boolean;
}

export type Query = Record<string, string | number | boolean | undefined>;

/** The document of a reply, and whether the call was a repeat. */
export function result<T extends object>(reply: Reply<T>): T & { readonly replayed: boolean } {
  // Not a member of the document: it is left out when the result is written as JSON.
  return Object.defineProperty(reply.value, "replayed", { value: reply.replayed, enumerable: false }) as T & { readonly replayed: boolean };
}

/** The path and the query of a list of open requests. */
export function pending(noun: string, { sessionId, below }: PendingListOptions): [path: string, query: Query] {
  if (sessionId === undefined || below) return [`/v1/${noun}`, { session_id: sessionId }];
  return [at("/v1/sessions", sessionId, noun), {}];
}

/** Reads one page of a list. */
export async function page<T>(transport: Transport, path: string, query: Query, options: PageOptions): Promise<doc.Page<T>> {
  const asked = { ...query, page: true, limit: options.limit, cursor: options.cursor };
  return (await transport.call<doc.Page<T>>({ method: "GET", path, query: asked, repeat: "always", needs: ["items", "pagination"], signal: options.signal })).value;
}

/** Reads a list to its end, page by page. */
export async function* walk<T>(transport: Transport, path: string, query: Query, options: PageOptions): AsyncGenerator<T, void> {
  for (let cursor = options.cursor; ; ) {
    const read = await page<T>(transport, path, query, { ...options, limit: options.limit ?? 100, ...(cursor ? { cursor } : {}) });
    yield* read.items;
    const next = read.pagination.next_cursor;
    if (!read.pagination.has_more || next === null || next === cursor) return;
    cursor = next;
  }
}

/** Reads one page of events. */
export async function events(transport: Transport, path: string, options: EventListOptions): Promise<Reply<doc.RunEventEntry[]>> {
  return await transport.call({
    method: "GET", path, query: { after: options.after, limit: options.limit }, repeat: "always", list: true, signal: options.signal,
  });
}

/** Reads events to the end, page by page. */
export async function* walkEvents(transport: Transport, path: string, options: EventListOptions): AsyncGenerator<doc.RunEventEntry, void> {
  const limit = options.limit ?? 1000;
  for (let after = options.after; ; ) {
    const reply = await events(transport, path, { ...options, limit, ...(after ? { after } : {}) });
    const last = reply.value.at(-1)?.id;
    // The same page again, for example out of a cache that ignores the query, would not end.
    if (last !== undefined && last === after) throw new UnavailableError(`GET ${path}: the events do not go on after ${last}`);
    yield* reply.value;
    after = last;
    // A page may end early, because it would be too large.
    if (after === undefined || (!reply.more && reply.value.length < limit)) return;
  }
}
