package escalation

import (
	"github.com/holdpoint/holdpoint/api"
)

// Plan is the escalation of one request.
type Plan struct {
	Steps []api.EscalationStep
	// CreatedAtMs is when the request was raised. All times count from it.
	CreatedAtMs int64
	// Calendar is nil if all time counts.
	Calendar *Calendar
}

// Times returns how often a step notifies people.
func Times(step *api.EscalationStep) int64 {
	switch {
	case step.EveryMs == 0:
		return 1
	case step.Times == 0:
		return api.MaxEscalationMessages
	}
	return step.Times
}

// at returns when a step notifies people, for the n-th time from 0. It returns false for never.
func (p *Plan) at(step *api.EscalationStep, n int64) (int64, bool) {
	afterMs := step.AfterMs + n*step.EveryMs
	if p.Calendar == nil || step.Urgent {
		return p.CreatedAtMs + afterMs, true
	}
	return p.Calendar.Add(p.CreatedAtMs, afterMs)
}

// Next returns the step that is due next, after each step was done that often, and when. It returns -1
// when the escalation is over. done may be shorter than the steps.
func (p *Plan) Next(done []int64) (step int, atMs int64) {
	step = -1
	for i := range p.Steps {
		if Done(done, i) >= Times(&p.Steps[i]) {
			continue
		}
		if at, ever := p.at(&p.Steps[i], Done(done, i)); ever && (step < 0 || at < atMs) {
			step, atMs = i, at
		}
	}
	return step, atMs
}

// Due returns how often each step is done once everything due at a time has been done. A service that
// was down for a while does several at once.
func (p *Plan) Due(done []int64, nowMs int64) []int64 {
	after := make([]int64, len(p.Steps))
	for i := range p.Steps {
		for after[i] = Done(done, i); after[i] < Times(&p.Steps[i]); after[i]++ {
			if at, ever := p.at(&p.Steps[i], after[i]); !ever || at > nowMs {
				break
			}
		}
	}
	return after
}

// Done returns how often a step was done.
func Done(done []int64, step int) int64 {
	if step >= len(done) {
		return 0
	}
	return done[step]
}
