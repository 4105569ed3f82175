package gate

import (
	"cmp"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
)

// execReport is the output of a run that exec made: what became of the command. A
// later call with the same key ends as it says.
type execReport struct {
	// Outcome is "exited", "not_started", or the request's outcome when it was not
	// allowed.
	Outcome string `json:"outcome"`
	// ExitCode is what exec exits with.
	ExitCode int    `json:"exit_code"`
	Signal   string `json:"signal,omitempty"`
	// Argv is what ran, and Edited whether the person who decided changed it.
	Argv   []string `json:"argv,omitempty"`
	Cwd    string   `json:"cwd,omitempty"`
	Edited bool     `json:"edited,omitzero"`
	// Reason is why it did not run.
	Reason     string `json:"reason,omitempty"`
	ResolvedBy string `json:"resolved_by,omitempty"`
}

const (
	outcomeExited     = "exited"
	outcomeNotStarted = "not_started"
)

// reportOf is the report of a command that was not allowed.
func reportOf(resolution api.Resolution) execReport {
	report := execReport{
		Outcome: string(resolution.Outcome), ExitCode: console.ExitDenied,
		Reason: cmp.Or(resolution.Reason, resolution.Justification), ResolvedBy: resolution.ResolvedBy,
	}
	if resolution.Outcome == api.OutcomeExpired {
		report.ExitCode = console.ExitExpired
	}
	return report
}

// sayReport says why nothing ran, if nothing did, and returns the exit code.
func (e *execution) sayReport(report execReport) int {
	switch report.Outcome {
	case outcomeExited:
	case outcomeNotStarted:
		e.terminal.Say("the command could not be started: %s", console.Printable(report.Reason, false))
	case string(api.OutcomeExpired):
		e.terminal.Say("expired before anybody decided; the command was not run")
	default:
		e.terminal.Say("%s%s", report.Outcome, by(report.ResolvedBy, report.Reason))
	}
	return report.ExitCode
}
