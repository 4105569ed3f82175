package runs

import "github.com/holdpoint/holdpoint/api"

// storedRowBytes is roughly the size of a row without its texts.
const storedRowBytes = 256

// Stores returns roughly how many bytes a command adds to the database. settles reports whether it decides,
// ends or releases something. Such a command goes through when the budget or the disk is used up; its bytes
// still count, so that a caller cannot store without limit by ending runs.
func Stores(command Command) (bytes int64, settles bool) {
	switch c := Given(command).(type) {
	case *CreateSession:
		return storedRowBytes + int64(len(c.Metadata)), false
	case *CreateRun:
		bytes = storedRowBytes + int64(len(c.Input)+len(c.Metadata))
		if c.Suspend != nil {
			bytes += suspensionBytes(c.Suspend)
		}
		return bytes, false
	case *Suspend:
		return suspensionBytes(&c.Suspension), false
	case *AskClarification:
		return storedRowBytes + int64(len(c.Checkpoint)) + questionBytes(c.Request.Questions), false
	case *AppendEvents:
		for _, event := range c.Events {
			bytes += storedRowBytes + int64(len(event))
		}
		return bytes, false
	case *Heartbeat:
		return int64(len(c.Checkpoint)), false
	case *ResolveApprovals:
		for i := range c.Resolutions {
			decided := &c.Resolutions[i]
			bytes += storedRowBytes + int64(len(decided.UpdatedInput)+len(decided.RuntimePayload)+len(decided.Reason)+len(decided.Justification))
		}
		return bytes, true
	case *AnswerQuestion:
		bytes = storedRowBytes + int64(len(c.Resolution.Value)+len(c.Resolution.RuntimePayload)+len(c.Resolution.Justification))
		for i := range c.Resolution.Answers {
			bytes += int64(len(c.Resolution.Answers[i].FreeformAnswer))
		}
		return bytes, true
	case *Complete:
		return storedRowBytes + int64(len(c.Output)), true
	case *Fail:
		return storedRowBytes + int64(len(c.Error)), true
	case *Release:
		return int64(len(c.Checkpoint) + len(c.LastError)), true
	}
	return 0, true
}

func suspensionBytes(suspension *api.Suspension) (bytes int64) {
	bytes = int64(len(suspension.Checkpoint))
	for i := range suspension.Approvals {
		asked := &suspension.Approvals[i]
		bytes += storedRowBytes + int64(len(asked.Input)+len(asked.InputSchema)+len(asked.Reason))
	}
	for i := range suspension.Questions {
		asked := &suspension.Questions[i]
		bytes += storedRowBytes + int64(len(asked.ResponseSchema)) + questionBytes(asked.Questions)
	}
	return bytes
}

func questionBytes(questions []api.UserQuestion) (bytes int64) {
	for i := range questions {
		bytes += int64(len(questions[i].Question))
		for j := range questions[i].Options {
			bytes += int64(len(questions[i].Options[j].Label) + len(questions[i].Options[j].Description))
		}
	}
	return bytes
}
