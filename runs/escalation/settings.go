package escalation

// Settings are what a service knows for escalations. All replicas need the same. A nil *Settings has
// nothing.
type Settings struct {
	// Calendars are the calendars, by name.
	Calendars map[string]*Calendar
	// OnCall has the names of the sources that say who is on call.
	OnCall map[string]bool
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
