package escalation

import (
	"slices"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
)

// Settings are what a service knows for escalations. All replicas need the same. A nil *Settings has
// nothing.
type Settings struct {
	// Calendars are the calendars, by name.
	Calendars map[string]*Calendar
	// OnCall has the names of the sources that say who is on call.
	OnCall map[string]bool
	// Named are the escalations that requests can name. Default is the name of the one for requests without
	// an escalation; empty for none.
	Named   map[string]*Named
	Default string
}

// Having returns settings that have everything that an escalation names, for a text of it; nil for nil.
func Having(e *api.Escalation) *Settings {
	if e == nil {
		return nil
	}
	s := &Settings{OnCall: map[string]bool{}, Calendars: map[string]*Calendar{e.Calendar: {}}, Named: map[string]*Named{e.Name: NewNamed(e.Name, api.Escalation{})}}
	for i := range e.Steps {
		for _, selector := range slices.Concat(e.Steps[i].Notify, e.Steps[i].AlsoFrom) {
			_, name, _ := strings.Cut(selector, ":")
			s.OnCall[name] = true
		}
	}
	return s
}

// Calendar returns the calendar of a name, or nil.
func (s *Settings) Calendar(name string) *Calendar {
	if s == nil {
		return nil
	}
	return s.Calendars[name]
}

// HasOnCall reports whether there is an on-call source of a name.
func (s *Settings) HasOnCall(name string) bool { return s != nil && s.OnCall[name] }

// Of returns the named escalation for a request with an escalation, which may be nil; nil if it stands
// for itself, or if the service does not have the name.
func (s *Settings) Of(e *api.Escalation) *Named {
	switch {
	case s == nil:
		return nil
	case e == nil:
		return s.Named[s.Default]
	}
	return s.Named[e.Name]
}

// Named is an escalation with a name. Requests get a copy, so later changes do not concern them.
type Named struct {
	Escalation *api.Escalation
	// Form is the encoded Escalation.
	Form document.Value
}

// NewNamed returns a named escalation. Its deadline keeps a request open, or does the default of the kind
// of request.
func NewNamed(name string, e api.Escalation) *Named {
	e.Name = name
	if e.AtDeadline != api.DeadlineKeep {
		e.AtDeadline = ""
	}
	return &Named{&e, document.OwnValue(&e)}
}
