package runs

// Adds returns how many open prompts and queued runs a command adds at most to what waits, before
// anything is known of what is there. Rules may settle some at once.
func Adds(command Command) (prompts, queued int64) {
	switch c := Given(command).(type) {
	case *CreateRun:
		switch {
		case c.Suspend != nil:
			return int64(len(c.Suspend.Approvals) + len(c.Suspend.Questions)), 0
		case c.Claim == nil:
			return 0, 1
		}
	case *Suspend:
		return int64(len(c.Approvals) + len(c.Questions)), 0
	case *AskClarification:
		return 1, 0
	}
	return 0, 0
}
