// One stream for all tabs. A browser opens six connections to a service; a stream in each tab would leave
// none for decisions. One tab leads: it follows the stream and passes on what it reads. When nothing is
// heard of it, another one takes over.

const silence = 8000; // the service says something every 5 s, and the leader passes it on
const settling = 250; // how long a tab that opens, or is looked at again, waits before it looks around
const channelName = "holdpoint.stream.1";

// shareStream follows a stream together with the other tabs. open(on, signal) follows it for real and calls
// on.frame(name, text) and on.closed(). use has frame and closed as well, and resync(), which reads what is
// open: frames may have been missed. Returns {stop, signal(name)}.
export function shareStream(open, use, env = browser()) {
  const me = env.id();
  const channel = env.channel(channelName);
  let leader = null, term = 0, seen = -1, heardAt = -Infinity, sent = 0; // what is known of the leader; what this tab has sent as one
  let own = null; // this tab's stream
  let announced = false; // it has led since its first frame
  let viewing = ""; // the last frame of that name: a tab that opens has no other way to know
  let leaderVisible = true, timer;

  const post = message => channel.postMessage({ from: me, ...message });
  const tell = message => post({ ...message, term, n: sent++, visible: env.visible() });

  // newer reports whether a leader's claim wins over what is known.
  const newer = (otherTerm, other) => otherTerm > term || otherTerm === term && (leader === null || other <= leader);

  function stand() {
    if (own) return;
    const attempt = own = new AbortController();
    announced = false;
    open({
      frame(name, text) {
        if (attempt.signal.aborted) return;
        if (!announced) { announced = true; term++; leader = me; sent = 0; }
        if (name === "snapshot") viewing = "";
        if (name === "viewing") viewing = text;
        tell({ type: "frame", name, text });
        use.frame(name, text);
      },
      closed() {
        if (attempt.signal.aborted) return;
        if (!announced) { if (leader === null || leader === me) use.closed(); return; }
        tell({ type: "closed" });
        use.closed();
      },
    }, attempt.signal);
  }

  function stepDown() {
    own?.abort();
    own = null;
    announced = false;
  }

  function hear(message) {
    if (message.from === me) return;
    switch (message.type) {
      case "hello":
        if (!announced) return;
        tell({ type: "here" });
        if (viewing) tell({ type: "frame", name: "viewing", text: viewing });
        return;
      case "bye": if (message.from === leader) { leader = null; heardAt = -Infinity; schedule(env.random() * 200); } return;
      case "signal": leave(); stepDown(); use.signal?.(message.name); return; // its stream is of the account before
    }
    if (!newer(message.term, message.from)) {
      if (announced) tell({ type: "here" }); // an older leader that was frozen learns of this one
      return;
    }
    const changed = message.from !== leader || message.term !== term;
    if (changed) stepDown();
    const missed = !changed && message.n !== seen + 1 || changed && !(message.type === "frame" && message.name === "snapshot");
    ({ from: leader, term, n: seen } = message);
    heardAt = env.now();
    leaderVisible = message.visible;
    if (missed) { use.resync(); post({ type: "hello" }); }
    if (message.type === "frame") use.frame(message.name, message.text);
    if (message.type === "closed") use.closed();
  }

  // check takes over where nothing is heard, and where this tab is looked at and the leader is not: a browser
  // slows down what is hidden.
  function check() {
    if (!announced && env.now() - heardAt > silence) { if (leader !== me) leader = null; stand(); }
    else if (!announced && env.visible() && !leaderVisible) stand();
    schedule(1000 + env.random() * 500);
  }
  function schedule(ms) {
    env.clear(timer);
    timer = env.after(ms, check);
  }

  channel.onmessage = event => hear(event.data);
  const leave = () => { if (announced) post({ type: "bye" }); };
  const unlisten = env.listen({
    leave,
    shown() { if (!announced && leader !== null && !leaderVisible) stand(); schedule(settling); },
  });
  // It does not wait for an answer: the first tab is not slower for the others. A leader that answers ends
  // its own stream.
  post({ type: "hello" });
  stand();
  schedule(settling);
  return {
    signal: name => post({ type: "signal", name }),
    stop() {
      leave();
      stepDown();
      env.clear(timer);
      unlisten();
      channel.close();
    },
  };
}

function browser() {
  return {
    id: () => Array.from(crypto.getRandomValues(new Uint8Array(8)), one => one.toString(16).padStart(2, "0")).join(""),
    channel: name => globalThis.BroadcastChannel ? new BroadcastChannel(name) : { postMessage() {}, close() {} },
    now: () => performance.now(),
    random: () => Math.random(),
    after: (ms, then) => setTimeout(then, ms),
    clear: timer => clearTimeout(timer),
    visible: () => document.visibilityState === "visible",
    listen({ leave, shown }) {
      const visibility = () => { if (document.visibilityState === "visible") shown(); };
      addEventListener("pagehide", leave);
      document.addEventListener("freeze", leave);
      document.addEventListener("visibilitychange", visibility);
      document.addEventListener("resume", shown);
      addEventListener("pageshow", shown);
      return () => {
        removeEventListener("pagehide", leave);
        document.removeEventListener("freeze", leave);
        document.removeEventListener("visibilitychange", visibility);
        document.removeEventListener("resume", shown);
        removeEventListener("pageshow", shown);
      };
    },
  };
}
