// Loads the page again when one of its scripts could not be had: a browser gives them up when its
// network changes meanwhile.

"use strict";
addEventListener("error", event => {
  if (!(event.target instanceof HTMLScriptElement)) return;
  const tries = history.state?.loadedAgain ?? 0; // a storage may be full
  history.replaceState({ loadedAgain: tries + 1 }, "");
  setTimeout(() => location.reload(), Math.min(500 * 2 ** tries, 30000));
}, true);
