package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
)

// finished returns the exit code of a call that finds the run ended.
func (e *execution) finished(ctx context.Context, view *api.RunView) error {
	var report execReport
	switch {
	case e.key != "" && view.Status == api.StatusCompleted && json.Unmarshal(view.Output, &report) == nil && report.Outcome != "":
		if err := e.checkEnd(ctx, &report); err != nil {
			return err
		}
		switch report.Outcome {
		case outcomeExited:
			e.terminal.Say("this command has already run, as run %s; it is not run again", view.RunID)
			e.terminal.Say("its exit code was %d; its output was not recorded. To run it again, use another --key", report.ExitCode)
		case outcomeNotStarted:
			e.terminal.Say("run %s of this key was approved and could not be started; it is not tried again. To ask again, use another --key", view.RunID)
		default:
			e.terminal.Say("this key was already used for run %s, which has ended; to ask again, use another --key", view.RunID)
		}
		return console.ExitWith(e.sayReport(report))
	case view.Status == api.StatusCancelled || view.Status == api.StatusInterrupted:
		settled, err := e.outcomeOf(ctx)
		if err != nil {
			return err
		}
		e.terminal.Say("%s%s; the command was not run by this call", view.Status, by(settled.ResolvedBy, view.Error))
		return console.ExitWith(console.ExitDenied)
	case view.Status == api.StatusFailed:
		return fmt.Errorf("run %s failed: %s", view.RunID, console.Printable(view.Error, false))
	case len(view.Output) == 0:
		return fmt.Errorf("run %s has no report: someone else completed it, or its report was redacted; the command was not run by this call", view.RunID)
	default:
		return fmt.Errorf("run %s was completed by someone else; the command was not run by this call", view.RunID)
	}
}

// checkEnd compares the recorded end with the recorded decision. A caller that has guessed
// the key and got a claim can write an end but not a decision. A command that was never
// allowed did not run, and the exit code of a denial is fixed. The error has exit code
// ExitForeign.
func (e *execution) checkEnd(ctx context.Context, report *execReport) error {
	resume, err := e.decided(ctx)
	if err != nil {
		return err
	}
	settled, err := decisionOn(e.asked, resume)
	if err == nil {
		err = report.fits(settled)
	}
	if err != nil {
		return console.Failed(console.ExitForeign, "NOTHING WAS RUN: run %s was ended as if this command had finished, which is impossible: %s\n"+
			"           Someone else has acted on this run.", e.params.RunID, console.Printable(err.Error(), false))
	}
	return nil
}

// fits checks the recorded end against the decision. For a command that was not allowed,
// the exit code is derived from the decision.
func (r *execReport) fits(settled api.SettledApproval) error {
	if settled.Resolution.Outcome != api.OutcomeAllowed {
		if r.Outcome != string(settled.Resolution.Outcome) {
			return fmt.Errorf("the command was %s", settled.Resolution.Outcome)
		}
		*r = reportOf(settled.Resolution)
		return nil
	}
	approved, err := planOf(settled)
	switch {
	case err != nil:
		return err
	case r.Outcome != outcomeExited && r.Outcome != outcomeNotStarted:
		return errors.New("the command was allowed")
	case !slices.Equal(r.Argv, approved.argv) || r.Cwd != approved.cwd:
		return fmt.Errorf("the allowed command is %s in %s", approved.line(), approved.cwd)
	}
	return nil
}

// errRedacted says that the log does not have the question and the decision any more.
var errRedacted = errors.New("the request or its decision was redacted, so this call cannot check whether the command has run; it is not run again. To ask again, use another --key")

// decided returns all decisions of the run from its log, where only decisions are recorded
// as such.
func (e *execution) decided(ctx context.Context) (*api.Resume, error) {
	raised := map[string]api.ApprovalRequest{}
	resume := &api.Resume{}
	for entry, err := range e.AllRunEvents(ctx, e.params.RunID, client.EventListParams{}) {
		if err != nil {
			return nil, err
		}
		var event struct {
			Type        api.EventType    `json:"type"`
			Requests    api.JSON         `json:"requests"`
			Resolutions []api.Resolution `json:"resolutions"`
			Redacted    bool             `json:"redacted"`
		}
		if err := json.Unmarshal(entry.Event, &event); err != nil {
			continue // an event of a worker may have such members in another form
		}
		//exhaustive:ignore
		switch event.Type {
		case api.EventWaitingForApproval:
			if event.Redacted {
				return nil, errRedacted
			}
			var requests []api.ApprovalRequest
			if err := json.Unmarshal(event.Requests, &requests); err != nil {
				return nil, fmt.Errorf("read event %s of run %s: %w", entry.ID, e.params.RunID, err)
			}
			for i := range requests {
				raised[requests[i].ID] = requests[i]
			}
		case api.EventApprovalResolved:
			if event.Redacted {
				return nil, errRedacted
			}
			for _, resolution := range event.Resolutions {
				resume.Approvals = append(resume.Approvals, api.SettledApproval{Request: raised[resolution.RequestID], Resolution: resolution})
			}
		case api.EventUserQuestionResolved:
			resume.Questions = append(resume.Questions, api.SettledQuestion{})
		}
	}
	return resume, nil
}
