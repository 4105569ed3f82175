// What a list of the past keeps of decisions that were made after it was read.

const mostFresh = 1000; // beyond that the whole list is read again

export const nothingRead = asked => ({ asked, items: [], cursor: "", more: true, error: "", failures: 0, fresh: [], missed: false });

// withNewest returns what was read with the newest page, read again. What is new in it waits in fresh: the rows that a
// person reads do not move. missed says that there are others between the new ones and the list.
export function withNewest(now, page) {
  const known = new Set([...now.fresh, ...now.items].map(({ handle }) => handle)), added = page.items.filter(({ handle }) => !known.has(handle));
  if (added.length === 0) return now;
  if (known.size === 0) return { ...now, ...page };
  const fresh = [...added, ...now.fresh];
  return { ...now, fresh: fresh.slice(0, mostFresh), missed: now.missed || fresh.length > mostFresh || added.length === page.items.length && page.more };
}

// withFresh puts the new ones into the list. Where others were missed, the whole list is read again.
export const withFresh = now => now.missed ? nothingRead(now.asked) : now.fresh.length > 0 ? { ...now, items: [...now.fresh, ...now.items], fresh: [] } : now;
