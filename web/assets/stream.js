// Follows /v1/stream. EventSource hides why a connection ended, and a page must know.

import { headers, signedOut } from "./api.js";

const silence = 12000; // the service says something every 5 s

// follow calls on.frame(name, text) for each frame and on.closed for each end, and connects
// again until the signal aborts.
export async function follow(path, on, signal) {
  for (let wait = 250; !signal.aborted; wait = Math.min(wait * 2, 3000)) {
    const attempt = new AbortController();
    const stop = () => attempt.abort();
    signal.addEventListener("abort", stop);
    let watchdog = setTimeout(stop, silence);
    try {
      const response = await fetch(path, { headers: headers({ Accept: "text/event-stream" }), signal: attempt.signal, cache: "no-store", credentials: "same-origin" });
      if (response.status === 401) signedOut();
      if (!response.ok) throw new Error("the service answered " + response.status);
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        clearTimeout(watchdog);
        watchdog = setTimeout(stop, silence);
        const frames = (rest + value).split("\n\n");
        rest = frames.pop();
        for (const frame of frames) {
          let name = "", data = "";
          for (const line of frame.split("\n")) {
            if (line.startsWith("event: ")) name = line.slice(7);
            else if (line.startsWith("data: ")) data += line.slice(6);
          }
          if (name && data) {
            if (name === "snapshot") wait = 250;
            on.frame(name, data);
          }
        }
      }
    } catch { /* connects again below */ }
    clearTimeout(watchdog);
    signal.removeEventListener("abort", stop);
    if (signal.aborted) return;
    on.closed();
    await new Promise(done => {
      const next = () => { clearTimeout(timer); removeEventListener("online", next); done(); }, timer = setTimeout(next, wait);
      addEventListener("online", next);
    });
  }
}
