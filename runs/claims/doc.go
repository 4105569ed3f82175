// Package claims finds claimable runs for workers (docs/spec/v1.md#claim). It must not know SQL
// or HTTP.
//
// A [Dispatcher] has two sources: the notices of commits, which are fast and may be lost, and
// the store's list of claimable runs, which is exact and costs a query. Neither grants a run. A
// hint or a row only says which run to ask for; the command runs.ClaimRun takes the lease, and
// rejects all but one of several claimers. So stale information, on any number of replicas,
// costs at most a rejected command.
//
// # Demands
//
// Claims for the same agents share a demand: a queue of hints, the waiting claimers, and their
// scans. The first claim creates a demand, and it is dropped after a scan interval without use,
// so memory grows with the claims here and not with the runs that exist. A hint goes to every
// demand that covers its agent. The demands share the hint, so a run that one of them hands out
// disappears from the others too.
//
// # Invariants
//
// One mutex guards all of the state. It is held for short steps and never during a call of the
// store.
//
//  1. A queue is ordered by (claimable_at_ms, arrival). A claimer takes from its
//     front.
//  2. While a demand is complete (more is false), its queue has every claimable run
//     that was noticed or scanned and is not being claimed. While more is true there
//     may be others, but only younger ones. New hints are then not queued, because
//     they would overtake the others; the next scan finds them. More is true at
//     first, after a scan that filled its limit, and after an overflow.
//  3. While a complete demand has waiters its queue is empty: a hint goes to the
//     oldest matching waiter, or into the queues, never both. So one hint wakes
//     one waiter. While a demand with more has waiters and an empty queue, a scan
//     is wanted or in progress, or comes with the next tick after a failed one.
//  4. A scan replaces what was known before it began: the new queue is its rows and
//     the hints that arrived since. So hints that others have used disappear,
//     and a row without a hint (a lapsed lease, a lost hint, another replica)
//     is in its place by age.
//  5. One goroutine scans, one query at a time, for all demands that want it. Each
//     used demand wants a scan once every scan interval, even while hints suffice,
//     so that fresh hints cannot starve an old row. A demand with waiters wants
//     another one as long as there is more, so that the backlog of one agent cannot
//     hide the runs of another.
//  6. A claimer leaves without a run only after a scan that began after it arrived,
//     or that was requested after its last hint failed while there was more. So a
//     claim that does not wait sees the current state.
//  7. A waiter has one signal and is either in its demand's list or about to be
//     signalled, with or without hints. To leave for another reason, it removes
//     itself from the list, or else returns the hints that it was handed.
//  8. A store may let the dispatcher claim a run in the transaction that makes it
//     claimable ([Dispatcher.Take]), for the waiter that its hint would wake. Until
//     the store reports the result, the waiter is in no list; then it wakes with its
//     claims, or continues to wait. If it has left meanwhile, the run is released. A
//     claimer that is claiming runs gets more meanwhile, as long as it has room.
//  9. A run that was claimed for a client that has disconnected is released before
//     the claim returns.
package claims
