// Package claims finds claimable runs for workers (docs/spec/v1.md#claim). It must not
// know SQL or HTTP.
//
// A [Dispatcher] has two sources: the notices of commits, which are fast and may be
// lost, and the store's list of claimable runs, which is true and costs a query. Neither
// grants a run. A hint or a row only says which run to ask for; the lease is taken by
// the command runs.ClaimRun, which refuses all but one of several claimers. So whatever
// this package believes can be wrong, on any number of replicas, and costs a refused
// command at most.
//
// # Demands
//
// Claims that ask for the same agents share a demand: a queue of hints, the
// claimers that wait, and the scans that they share. A demand is made by its first
// claim and dropped when it was not used for a scan interval, so that memory
// follows those who ask here and not the runs that exist. A hint goes to every
// demand that covers its agent; a run that one of them hands out is taken from the
// others too, because they share the hint.
//
// # Invariants
//
// All of the state is guarded by one mutex, held for short steps and never during
// a call of the store.
//
//  1. A queue is in the order of (claimable_at_ms, arrival). A claimer takes from
//     its front.
//  2. While a demand is complete (more is false), every claimable run that was
//     noticed or scanned and is not being claimed is in its queue. While more
//     is true there may be others, but only younger than those in the queue. New
//     hints are then not queued, because they would overtake the others; the next
//     scan finds them. More is true at first, after a scan that filled its limit,
//     and after an overflow.
//  3. While a complete demand has waiters its queue is empty: a hint goes to the
//     oldest waiter that it fits, or into the queues, never both. So one hint wakes
//     one waiter. While a demand with more has waiters and an empty queue, a scan
//     is wanted or under way, or comes with the next tick after one that failed.
//  4. A scan replaces what was known before it began: the new queue is its rows and
//     the hints that arrived since. So hints that others have used do not stay,
//     and a row without a hint (a lapsed lease, a lost hint, another replica)
//     is in its place by age.
//  5. One goroutine scans, one query at a time, for all demands that want it. Each
//     used demand wants it once every scan interval, also while hints suffice, so
//     that fresh hints cannot starve an old row. A demand with waiters wants
//     another one as long as there is more, so that the backlog of one agent cannot
//     hide the runs of another.
//  6. A claimer leaves with nothing only after a scan that began after it arrived,
//     or that was asked for after its last hint failed while there was more. So a
//     claim that does not wait sees the truth.
//  7. A waiter has one signal and is either in its demand's list or about to be
//     signalled, with hints or without. One that leaves for its own reasons takes
//     itself off the list first, or else gives back the hints that it was handed.
//  8. A store may let the dispatcher claim a run in the transaction that makes it
//     claimable ([Dispatcher.Take]), for the waiter that its hint would wake. Until the
//     store tells how that ended, the waiter is in no list; then it is woken with what
//     it got, or waits on as if nothing had been. When it has left meanwhile, the run
//     is released. A claimer that takes the leases of what it found is handed more
//     meanwhile, as long as it has room.
//  9. A run that was claimed for a client that has disconnected is released before
//     the claim returns.
package claims
