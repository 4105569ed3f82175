package door

import (
	"errors"
	"slices"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// errNotHandedOver ends a claim that a batch did not decide or refused.
var errNotHandedOver = errors.New("the run was not handed over")

// HandOver registers a taker, which claims runs in the same transaction that makes them claimable.
// Only one taker may be registered at a time.
func (d *Door) HandOver(to runs.Taker) (stop func()) {
	d.taker.Store(&to)
	return func() { d.taker.CompareAndSwap(&to, nil) }
}

// ForOthers returns the runs to announce to other processes. It leaves out runs that this process
// is about to claim.
func (d *Door) ForOthers(claimable []reads.Claimable) []reads.Claimable {
	taker := d.taker.Load()
	if taker == nil || len(claimable) == 0 {
		return claimable
	}
	claimant, able := (*taker).(runs.Claimant)
	if !able {
		return claimable
	}
	return slices.DeleteFunc(slices.Clone(claimable), claimant.Claiming)
}

// takerWaiting returns the taker if a worker waits for a run, or nil.
func (d *Door) takerWaiting() runs.Taker {
	taker := d.taker.Load()
	if taker == nil || !(*taker).Waiting() {
		return nil
	}
	return *taker
}

// handed is a claim that was decided in the batch that made its run claimable.
type handed struct {
	claim *runs.ClaimRun
	reply runs.Reply
}

// handOver claims the runs that a batch made claimable for waiting workers. It skips runs whose
// rows are not all there; workers claim those in a later transaction.
func (d *Door) handOver(b *batch) {
	taker := d.takerWaiting()
	if taker == nil {
		return
	}
	var claimable []reads.Claimable
	for _, session := range b.changed {
		for _, run := range session.claimable() {
			if b.use.Session(run.SessionID).Answers(claimNeeds(run)) {
				claimable = append(claimable, run)
			}
		}
	}
	if len(claimable) == 0 {
		return
	}
	b.taker = taker
	for i, claim := range taker.Take(claimable) {
		if claim == nil {
			continue
		}
		session := b.use.Session(claimable[i].SessionID)
		if runs.Prepare(claim, d.options.NewID) != nil {
			taker.Taken(claim, runs.Reply{}, errNotHandedOver)
			continue
		}
		nowMs := b.bySession[claimable[i].SessionID].nowMs
		change, reply, err := d.decideCommand(session.State, claim, nowMs)
		if err != nil || change.Session == nil {
			taker.Taken(claim, runs.Reply{}, errNotHandedOver)
			continue
		}
		b.handed = append(b.handed, handed{claim, reply})
		b.apply(session.State, nowMs, change)
		b.use.Applied(session, &change)
	}
}

// claimNeeds returns the needs of a claim of this run.
func claimNeeds(run reads.Claimable) runs.Needs {
	return (&runs.ClaimRun{RunID: run.RunID, SessionID: run.SessionID}).Needs()
}

// endHandover reports the outcome of the claims to the taker. Further calls do nothing.
func (d *decisions) endHandover(err error) {
	ended := d.handed
	d.handed = nil
	for _, h := range ended {
		if err != nil {
			d.taker.Taken(h.claim, runs.Reply{}, err)
		} else {
			d.taker.Taken(h.claim, h.reply, nil)
		}
	}
}
