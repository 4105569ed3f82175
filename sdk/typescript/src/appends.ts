import { encodeJSON } from "./json.js";

/** Splits events into what one call takes: 256 events and 512 KiB, one event at least. */
export function appends<T>(events: T[]): T[][] {
  const calls: T[][] = [[]];
  let bytes = 0;
  for (const event of events) {
    const size = utf8.encode(encodeJSON(event)).length;
    let last = calls[calls.length - 1]!;
    if (last.length > 0 && (last.length === 256 || bytes + size > 512 * 1024)) {
      calls.push(last = []);
      bytes = 0;
    }
    last.push(event);
    bytes += size;
  }
  return calls;
}

const utf8 = new TextEncoder();
