package model

import (
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
)

// EscalationState is the progress of notifying people of an open request. A request without steps of an
// escalation has one once a message was written.
type EscalationState struct {
	// Done is how often each step was done.
	Done []int64 `json:"done,omitempty"`
	// Rounds counts the times at which steps were done, and Messages the messages to people.
	Rounds   int64 `json:"rounds,omitzero"`
	Messages int64 `json:"messages,omitzero"`
	// NextStep is due at NextAtMs. NextAtMs is 0 once every step is done.
	NextStep int   `json:"next_step,omitzero"`
	NextAtMs int64 `json:"next_at_ms,omitzero"`
	// Told has the people who got a message, in the order of their first one.
	Told []ToldPerson `json:"told,omitempty"`
	// NotReached has whom steps selected and who got no message since, at most api.MaxNotReached.
	NotReached []NotReached `json:"not_reached,omitempty"`
	// Withdraw has the channels that withdraw their messages once the request is settled.
	Withdraw []string `json:"withdraw,omitempty"`
}

// ToldPerson is a person with the round of the newest message. An older message is not sent any more.
type ToldPerson struct {
	Who   string `json:"who"`
	Round int64  `json:"round,omitzero"`
}

// NotReached is a person or a selector, and the reason why there was no message.
type NotReached struct {
	Who string `json:"who"`
	Why string `json:"why"`
}

// Miss notes why a person or a selector got no message, unless there are too many already.
func (s *EscalationState) Miss(who, why string) {
	s.unmiss(who)
	if len(s.NotReached) < api.MaxNotReached {
		s.NotReached = append(s.NotReached, NotReached{who, why})
	}
}

// Begin forgets why the selectors of a step selected nobody before.
func (s *EscalationState) Begin(selectors []string) { s.unmiss(selectors...) }

func (s *EscalationState) unmiss(who ...string) {
	s.NotReached = slices.DeleteFunc(s.NotReached, func(missed NotReached) bool { return slices.Contains(who, missed.Who) })
}

// Tell notes a message to a person in the current round.
func (s *EscalationState) Tell(who string) {
	s.unmiss(who)
	s.Messages++
	for i := range s.Told {
		if s.Told[i].Who == who {
			s.Told[i].Round = s.Rounds
			return
		}
	}
	s.Told = append(s.Told, ToldPerson{Who: who, Round: s.Rounds})
}

// Newest returns the round of the newest message to a person, 0 for none.
func (s *EscalationState) Newest(who string) int64 {
	for _, told := range s.Told {
		if told.Who == who {
			return told.Round
		}
	}
	return 0
}

// WithdrawFrom notes that a channel withdraws its messages.
func (s *EscalationState) WithdrawFrom(channel string) {
	if !slices.Contains(s.Withdraw, channel) {
		s.Withdraw = append(s.Withdraw, channel)
	}
}

// Escalates reports whether an open request has steps of an escalation.
func (r *Request) Escalates() bool {
	if r.EscalationState == nil {
		return false
	}
	e := r.Escalation()
	return e != nil && len(e.Steps) > 0
}

// Progress returns the progress of notifying people of a request, which must have an EscalationState.
func (r *Request) Progress() EscalationState {
	var state EscalationState
	document.DecodeStored(r.EscalationState, &state)
	return state
}
