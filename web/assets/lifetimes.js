// How long a rule lasts that a decision writes.

const hour = 3600_000;
const today = nowMs => { const end = new Date(nowMs); end.setHours(24, 0, 0, 0); return Math.max(60_000, end - nowMs); };
export const lifetimes = [["1 hour", () => hour], ["Today", today], ["30 days", () => 30 * 24 * hour], ["Always", () => 0]];

// leftOf is what remains of a term {forMs, atMs}: the rule ends when its text said, however late the decision arrives. It is
// undefined when nothing remains, and 0 for a term without an end.
export const leftOf = ({ forMs, atMs }, nowMs) => forMs === 0 ? 0 : atMs + forMs - nowMs >= 1 ? Math.floor(atMs + forMs - nowMs) : undefined;
