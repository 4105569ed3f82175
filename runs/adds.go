package runs

import "github.com/holdpoint/holdpoint/api"

// storedRowBytes is about what a row takes besides the texts in it.
const storedRowBytes = 256

// Stores returns about how many bytes a command adds to the database. It is 0 for a command that decides,
// cancels, ends or releases something, so those have room where nothing else has.
func Stores(command Command) (bytes int64) {
	switch c := Given(command).(type) {
	case *CreateSession:
		return storedRowBytes
	case *CreateRun:
		bytes = storedRowBytes + int64(len(c.Input)+len(c.Metadata))
		if c.Suspend != nil {
			bytes += suspensionBytes(c.Suspend)
		}
		return bytes
	case *Suspend:
		return suspensionBytes(&c.Suspension)
	case *AskClarification:
		return storedRowBytes
	case *AppendEvents:
		for _, event := range c.Events {
			bytes += storedRowBytes + int64(len(event))
		}
		return bytes
	case *Heartbeat:
		return int64(len(c.Checkpoint))
	}
	return 0
}

func suspensionBytes(suspension *api.Suspension) (bytes int64) {
	bytes = int64(len(suspension.Checkpoint))
	for i := range suspension.Approvals {
		asked := &suspension.Approvals[i]
		bytes += storedRowBytes + int64(len(asked.Input)+len(asked.InputSchema)+len(asked.Reason))
	}
	for i := range suspension.Questions {
		asked := &suspension.Questions[i]
		bytes += storedRowBytes + int64(len(asked.ResponseSchema))
		for j := range asked.Questions {
			bytes += int64(len(asked.Questions[j].Question))
			for k := range asked.Questions[j].Options {
				bytes += int64(len(asked.Questions[j].Options[k].Label) + len(asked.Questions[j].Options[k].Description))
			}
		}
	}
	return bytes
}

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
