// The line below a searched list, where long inputs were searched in their beginning only.

import { html, useEffect, useRef, useState } from "./vendor/htm-preact-standalone-3.1.1.js";
import { get, isPassing, path, problemWords, Refused } from "./api.js";
import { inPart, readWhole, wordsOf } from "./search.js";

const inputOf = handle => get(path("requests", handle)).then(({ request }) => request.input?.text, error => {
  if (error instanceof Refused && !isPassing(error)) return undefined; // gone, or not this person's any more
  throw error;
});

// SearchWhole offers to read them. The list changes when the person asks for it, and never by itself.
export function SearchWhole({ list, text, onRead }) {
  const [said, say] = useState(""), [reading, reads] = useState(false), there = useRef(true);
  useEffect(() => () => { there.current = false; }, []);
  const part = inPart(list, wordsOf(text)), one = part.length === 1;
  if (part.length === 0 && !reading) return null;
  const search = async () => {
    reads(true);
    say("Reading…");
    let problem = "";
    try {
      await readWhole(part, inputOf, (done, count) => { if (there.current) say(`Read ${done} of ${count}…`); });
    } catch (error) { problem = problemWords(error); }
    if (!there.current) return;
    say(problem);
    reads(false);
    onRead();
  };
  return html`<p class="older"><span class="quiet" role="status">${said || (one ? "1 long request was searched in its beginning only." : `${part.length} long requests were searched in their beginning only.`)}</span>
    ${" "}<button onClick=${() => void search()} disabled=${reading}>${one ? "Search all of it" : "Search all of them"}</button></p>`;
}
