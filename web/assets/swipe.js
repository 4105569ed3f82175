// A finger that moves to the left over a row. It decides nothing.

const least = 72; // pixels to the left
const mostSlant = 0.5; // of what it moves to the left, it may move up or down

// swipeLeft returns the handlers of an element that calls back when a finger has moved over it to the left.
export function swipeLeft(does) {
  let from = null;
  return {
    ontouchstart(event) { from = event.touches.length === 1 ? event.touches[0] : null; },
    ontouchcancel() { from = null; },
    ontouchend(event) {
      const to = event.changedTouches[0], left = from && to ? from.clientX - to.clientX : 0;
      if (left >= least && Math.abs(to.clientY - from.clientY) <= left * mostSlant) { if (event.cancelable) event.preventDefault(); does(); }
      from = null;
    },
  };
}
