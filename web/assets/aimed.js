// Whether the person has begun to act on the list. Until then it may still be put in order while it is read.

let begun = false;
const inField = target => target.closest?.("input, textarea, select");
const onList = target => target.closest?.(".rows, .detail");

export const hasAimed = () => begun;

// followAim listens for what the person does, once there is a row to aim at.
export function followAim(hasRows = () => document.querySelector(".list .row")) {
  const begins = does => event => { if (!begun && does(event) && hasRows()) begun = true; };
  const listen = (type, does) => addEventListener(type, begins(does), { capture: true, passive: true });
  // A list that changes below a pointer at rest is no act of the person.
  listen("pointermove", event => (event.movementX || event.movementY) && onList(event.target));
  for (const type of ["pointerdown", "touchmove", "wheel"]) listen(type, event => onList(event.target));
  listen("keydown", event => !inField(event.target));
}
