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
	if !p.works(step) {
		return p.earliest(step, n), true
	}
	return p.Calendar.Add(p.CreatedAtMs, step.AfterMs+n*step.EveryMs)
}

// works reports whether only working time counts for a step.
func (p *Plan) works(step *api.EscalationStep) bool { return p.Calendar != nil && !step.Urgent }

// earliest returns a time before which a step does not notify people for the n-th time. It costs no search
// of the calendar.
func (p *Plan) earliest(step *api.EscalationStep, n int64) int64 {
	return p.CreatedAtMs + step.AfterMs + n*step.EveryMs
}

// Next returns the step that is due next, after each step was done that often, and when. It returns -1
// when the escalation is over. done may be shorter than the steps.
func (p *Plan) Next(done []int64) (step int, atMs int64) {
	// More working time is over later, so the calendar is searched for one step only.
	soonest := [2]int{-1, -1} // by all time, by working time
	for i := range p.Steps {
		one, kind := &p.Steps[i], 0
		if p.works(one) {
			kind = 1
		}
		if best := soonest[kind]; Done(done, i) < Times(one) && (best < 0 || p.earliest(one, Done(done, i)) < p.earliest(&p.Steps[best], Done(done, best))) {
			soonest[kind] = i
		}
	}
	step = -1
	for _, i := range soonest {
		if i < 0 {
			continue
		}
		if at, ever := p.at(&p.Steps[i], Done(done, i)); ever && (step < 0 || at < atMs || at == atMs && i < step) {
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
		for after[i] = Done(done, i); after[i] < Times(&p.Steps[i]) && p.earliest(&p.Steps[i], after[i]) <= nowMs; after[i]++ {
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
