import { Attempt, type Call, type CallOptions, type Transport, isUnanswered, problem, textOf } from "./http.js";
import { HoldpointError, UnavailableError, invalid, isTransient } from "./errors.js";
import { decodeJSON } from "./json.js";
import type { RunEventEntry } from "./types.js";

/**
 * One item of a stream. `id` is the position: pass it to a later call as `after`. A `gap` says
 * why the next item, a snapshot, does not continue the one before: `ahead` or `reset` when the
 * log does not have the events after the id; in the inbox `missed`, `slow`, and `lost` when the
 * connection is.
 */
export type StreamItem<Snapshot> =
  | { type: "snapshot"; id?: string; snapshot: Snapshot }
  | { type: "event"; id?: string; event: RunEventEntry }
  | { type: "gap"; reason: string };

export interface StreamOptions extends CallOptions {
  /** The id of the last item that the caller has: no snapshot then, but what came after it. */
  after?: string;
}

/** After so long without a byte the connection counts as dead: the service sends something every 5 s. */
const streamSilenceMs = 20_000;

const maxFrameLength = 64 << 20;

/** What differs between the streams of a session, of a run, and of the inbox. */
export interface Snapshots<Snapshot> {
  path: string;
  /** Its frames have ids, by which it is resumed after a cut. */
  numbered: boolean;
  /** Whether nothing comes after this snapshot. */
  endsWith(snapshot: Snapshot): boolean;
  /** Whether nothing comes after this event. */
  isFinal(entry: RunEventEntry, name: string): boolean;
  /** Asks whether there is nothing after an id, and never will be. */
  isComplete(after: string): Promise<boolean>;
}

/** Connects until the stream is complete. The first connection is tried as often as the policy says, a later one without an end. */
export async function* stream<Snapshot>(
  transport: Transport,
  kind: Snapshots<Snapshot>,
  options: StreamOptions,
): AsyncGenerator<StreamItem<Snapshot>, void> {
  let after = options.after ?? "";
  if (after !== "" && !isSequence(after)) throw invalid(`${JSON.stringify(after)} is not an event id`);
  const call: Call = { method: "GET", path: kind.path, repeat: "always", signal: options.signal };
  const pauses = transport.pauses();
  let opened = false;
  let live = false;
  for (let attempt = 1; ; attempt++) {
    let failure: unknown;
    const connection = new Attempt(options.signal, streamSilenceMs);
    try {
      const response = await transport.open(call, connection.signal, "text/event-stream", after === "" ? {} : { "Last-Event-ID": after });
      if (response.status !== 200) throw problem(response, await textOf(response));
      let resumed = after !== "";
      let first = true;
      for await (const frame of frames(response, connection)) {
        opened = true;
        pauses.reset();
        if ((first && resumed && frame.id === "") || (!first && !kind.numbered && frame.name === "stream_gap")) {
          const { reason } = documentOf(frame) as { reason?: string };
          if (frame.name !== "stream_gap" || !reason) throw new FrameError(`${JSON.stringify(frame.name)} is not a stream_gap`);
          after = "";
          resumed = false;
          first = true;
          live = false;
          yield { type: "gap", reason };
        } else if (!kind.numbered && frame.name === "keepalive") {
          continue; // it carries the service's clock and is not an event
        } else if (kind.numbered !== isSequence(frame.id)) {
          throw new FrameError(`${JSON.stringify(frame.name)} with the id ${JSON.stringify(frame.id)}`);
        } else if (first && !resumed) {
          if (frame.name !== "snapshot") throw new FrameError(`${JSON.stringify(frame.name)} instead of a snapshot`);
          first = false;
          live = true;
          after = frame.id;
          const snapshot = documentOf(frame) as Snapshot;
          yield { type: "snapshot", snapshot, ...position(frame.id) };
          if (kind.endsWith(snapshot)) return;
        } else {
          first = false;
          if (kind.numbered && after !== "" && BigInt(numberOf(frame.id)) <= BigInt(numberOf(after))) continue;
          const event = documentOf(frame) as RunEventEntry;
          after = frame.id;
          yield { type: "event", event, ...position(frame.id) };
          if (kind.numbered && kind.isFinal(event, frame.name)) return;
        }
      }
      // The service ended the stream: the log is complete, or the process shuts down.
      if (await kind.isComplete(after)) return;
      failure = new UnavailableError(`GET ${kind.path}: the stream ended`);
    } catch (thrown) {
      failure = thrown instanceof FrameError ? thrown : connection.explain(call, thrown);
    } finally {
      connection.cut();
    }
    if (options.signal?.aborted || !(opened ? isUnanswered(failure) : isTransient(failure) && attempt < transport.retry.maxAttempts)) throw failure;
    if (live && !kind.numbered) {
      live = false;
      yield { type: "gap", reason: "lost" };
    }
    await (opened ? pauses.afterAnyway(failure, options.signal) : pauses.after(failure, options.signal));
  }
}

/** The response is not a stream of this service. */
class FrameError extends HoldpointError {
  constructor(message: string, options?: ErrorOptions) {
    super([], message, options);
  }
}

/**
 * The id of an event, or of a frame of a stream, which says after a point to which history its number belongs. The service sends a
 * snapshot after any other.
 */
function isSequence(id: string): boolean {
  return /^(0|[1-9]\d{0,17})(\.[0-9a-f]{7,64})?$/.test(id);
}

/** The number of an event in the id of a frame. */
export function numberOf(id: string): string {
  return id.split(".", 1)[0] ?? "";
}

function position(id: string): { id?: string } {
  return id === "" ? {} : { id };
}

interface Frame {
  id: string;
  name: string;
  data: string;
}

/** Returns the document of a frame. A frame without one ends the stream: the next connection would have it again. */
function documentOf(frame: Frame): unknown {
  let document: unknown;
  try {
    document = decodeJSON(frame.data);
  } catch (cause) {
    throw new FrameError(`the data of ${JSON.stringify(frame.name)} is not JSON`, { cause });
  }
  if (typeof document !== "object" || document === null || Array.isArray(document)) {
    throw new FrameError(`the data of ${JSON.stringify(frame.name)} is not a document`);
  }
  return document;
}

/** Yields the frames that have data. A frame that the end of the stream cuts off is left out. */
async function* frames(response: Response, connection: Attempt): AsyncGenerator<Frame, void> {
  if (!response.body) return;
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let id = "";
  let name = "";
  let data: string[] = [];
  let rest = "";
  let size = 0; // of the lines of the frame so far
  for (;;) {
    // The time covers each wait for bytes, and never what the caller needs for an item.
    connection.restart(streamSilenceMs);
    const { done, value } = await reader.read();
    connection.pause();
    if (done) return;
    const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines.map((text) => (text.endsWith("\r") ? text.slice(0, -1) : text))) {
      size += line.length;
      if (line === "") {
        if (data.length > 0) yield { id, name: name || "message", data: data.join("\n") };
        name = "";
        data = [];
        size = 0;
        continue;
      }
      const colon = line.indexOf(":");
      const field = colon < 0 ? line : line.slice(0, colon);
      const text = colon < 0 ? "" : line.slice(colon + (line[colon + 1] === " " ? 2 : 1));
      if (field === "data") data.push(text);
      else if (field === "event") name = text;
      else if (field === "id") id = text;
    }
    if (size + rest.length > maxFrameLength) throw new FrameError(`a frame has more than ${maxFrameLength} characters`);
  }
}
