package gate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/prompt"
	"github.com/holdpoint/holdpoint/runs/document"
)

// Ask asks a question and prints the answer.
type Ask struct {
	console.Reporting
	console.Recipients
	console.Named
	Session   string         `name:"session-id" aliases:"session" placeholder:"ID" help:"Session of the run, one active run at a time (default: a new one)."`
	Option    []string       `sep:"none" placeholder:"VALUE" help:"An option to choose from; repeatable. Without options the answer is free text."`
	Multi     bool           `help:"Allow choosing several options."`
	Free      bool           `help:"Allow free text in addition to the options."`
	Sensitive bool           `help:"Show the answer only to this command. The service must have an encryption key."`
	Timeout   *time.Duration `placeholder:"DURATION" help:"Time limit for an answer (default: none)."`
	Default   *string        `placeholder:"VALUE" help:"Print VALUE if nobody answers in time, instead of failing."`
	Key       *string        `placeholder:"KEY" help:"Idempotency key. Repeating the command with the same key continues the same question until its answer was printed; after that it asks again."`
	Question  string         `arg:"" help:"The question."`
}

// Help returns the text below the flags in --help.
func (c *Ask) Help() string {
	return `Prints the answer to stdout: one line per chosen option, and one for free text (line breaks become spaces; --json keeps them). Everything else goes to stderr.

` + console.ExitCodesHelp
}

// askInput is the question as stored with the run.
type askInput struct {
	Question  string   `json:"question"`
	Options   []string `json:"options,omitempty"`
	Multi     bool     `json:"multi,omitzero"`
	Free      bool     `json:"free"`
	Sensitive bool     `json:"sensitive,omitzero"`
}

// Run waits for the answer and prints it.
func (c *Ask) Run(ctx context.Context, terminal *console.Console) error {
	if err := c.check(); err != nil {
		return err
	}
	escalation, err := c.Chosen()
	if err != nil {
		return err
	}
	input := askInput{Question: c.Question, Options: c.Option, Multi: c.Multi, Free: c.Free || len(c.Option) == 0, Sensitive: c.Sensitive}
	return c.Call(func(opened *client.Client) error {
		a := &asking{command: c, input: input, escalation: escalation, gate: newGate(opened, terminal, settings{
			connection: c.Connection, noun: "ask", key: c.Key, session: c.Session, about: c.About(""), lease: askLease, timeout: console.Limit(c.Timeout), input: input,
		})}
		a.named = func(suffix string) { a.requestID = "question-" + suffix }
		a.spent = func(view *api.RunView) bool { return view.Status.Terminal() }
		a.suspension = func(afterMs *int64) *api.Suspension { return a.asks(afterMs) }
		return a.run(ctx)
	})
}

func (c *Ask) check() error {
	if strings.TrimSpace(c.Question) == "" {
		return console.Usage("the question is empty")
	}
	if err := cmp.Or(console.CheckTimeout(c.Timeout), checkKey(c.Key), c.CheckLabel()); err != nil {
		return err
	}
	switch {
	case c.Default != nil && c.Timeout == nil:
		return console.Usage("--default needs --timeout")
	case c.Multi && len(c.Option) == 0:
		return console.Usage("--multi needs --option")
	}
	for i, option := range c.Option {
		switch {
		case strings.TrimSpace(option) == "":
			return console.Usage("an --option is empty")
		case slices.Contains(c.Option[:i], option):
			return console.Usage("--option %s is given twice", option)
		}
	}
	return nil
}

// askLease is how long after the last heartbeat of this process another call with the same
// key may take over.
const askLease = 5 * time.Second

// asking is one call of ask.
type asking struct {
	gate
	command    *Ask
	input      askInput
	escalation *api.Escalation
	requestID  string
	// printed reports that the answer has been printed, and ended is the exit code of that, or why it failed.
	printed bool
	ended   error
}

// asks returns the question as a suspension. An option's id is its text if that is a valid
// id, otherwise its number. It has one in any case, because answerOn compares the question
// with the stored one.
func (a *asking) asks(afterMs *int64) *api.Suspension {
	question := api.UserQuestion{
		ID: "answer", Header: prompt.AskHeader, Question: a.input.Question, MultiSelect: a.input.Multi, Sensitive: a.input.Sensitive,
		AllowFreeform: &a.input.Free,
	}
	for i, option := range a.input.Options {
		id := option
		if len(option) > api.MaxNameLength || strings.ContainsAny(option, "\r\n\t") {
			for id = fmt.Sprintf("option-%d", i+1); slices.Contains(a.input.Options, id); {
				id += "-"
			}
		}
		question.Options = append(question.Options, api.QuestionOption{ID: id, Label: option})
	}
	return &api.Suspension{
		SuspensionID: a.requestID,
		Questions: []api.UserQuestionRequest{{
			ID: a.requestID, ToolCallID: a.requestID, Questions: []api.UserQuestion{question}, ExpiresAfterMs: afterMs,
			Escalation: a.escalation,
		}},
		Hold: true,
	}
}

// askReport is the output of a run of ask. A later call with the same key ends with it.
type askReport struct {
	// Outcome is the outcome of the request.
	Outcome    string   `json:"outcome"`
	Answers    []string `json:"answers"`
	Reason     string   `json:"reason,omitempty"`
	ResolvedBy string   `json:"resolved_by,omitempty"`
}

func (a *asking) run(ctx context.Context) error {
	waiting, stop := console.UntilSignal(ctx)
	defer stop()
	var report askReport
	view, err := a.wait(ctx, waiting, sameAsk{a.input, a.command.Session}, func(ctx context.Context, claim *api.Claim) (bool, error) {
		return a.act(ctx, claim, &report)
	})
	switch {
	case a.printed:
		return a.ended
	case errors.Is(err, errTimedOut):
		report, err = askReport{Outcome: string(api.OutcomeExpired), Answers: []string{}}, nil
	case err == nil && view != nil:
		report, err = a.finished(ctx, view)
	}
	if err != nil {
		return err
	}
	return a.print(report)
}

// sameAsk is the part of a call that must be the same for calls with one key.
type sameAsk struct {
	Input   askInput `json:"input"`
	Session string   `json:"session"`
}

// act prints the answer, and then ends the run with it: a repeated call prints nothing of a run that has
// ended.
func (a *asking) act(ctx context.Context, claim *api.Claim, report *askReport) (done bool, err error) {
	settled, err := a.answerOn(claim.Resume)
	if err != nil {
		return true, a.refuse(ctx, claim, "ASKED IN VAIN", err)
	}
	answer := settled.Resolution
	*report = askReport{Outcome: string(answer.Outcome), Answers: []string{}, ResolvedBy: answer.ResolvedBy, Reason: answer.Reason}
	if answer.Justification != nil {
		report.Reason = *answer.Justification
	}
	for _, given := range answer.Answers {
		for _, option := range given.SelectedOptions {
			report.Answers = append(report.Answers, option.Label)
		}
		if text := strings.TrimSpace(given.FreeformAnswer); text != "" {
			report.Answers = append(report.Answers, text)
		}
	}
	kept := *report
	if a.input.Sensitive {
		kept.Answers = []string{} // the output of a run is not secret
	}
	output, err := json.Marshal(kept)
	if err != nil {
		return true, fmt.Errorf("encode the output: %w", err)
	}
	a.ended = a.print(*report)
	if _, cause := console.CodeOf(a.ended); cause != nil && a.key != "" {
		a.letGo(ctx)
		return true, cause // the next call with the key prints it
	}
	a.printed = true
	a.record(ctx, claim.Lease.Fence, output)
	return true, nil
}

// record ends the run of a printed answer. After a signal it tries once more.
func (a *asking) record(ctx context.Context, fence string, output api.JSON) {
	err := a.complete(ctx, fence, output)
	if err != nil && ctx.Err() != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_, err = a.CompleteRun(ctx, a.params.RunID, fence, output)
	}
	// Without the lease, another call with the same key ends it.
	if err != nil && !errors.Is(err, client.ErrLeaseLost) && !errors.Is(err, client.ErrRunState) {
		a.terminal.Say("the answer was printed, but run %s could not be ended: %v", a.params.RunID, err)
	}
}

// answerOn returns the newest answer. It returns an error if the answer is to a different
// question than this call asked: a caller that has guessed the run's fence can raise
// questions on it.
func (a *asking) answerOn(resume *api.Resume) (*api.SettledQuestion, error) {
	if len(resume.Questions) == 0 || len(resume.Approvals) > 0 {
		return nil, fmt.Errorf("it carries %d answers and %d decisions on approvals", len(resume.Questions), len(resume.Approvals))
	}
	mine, err := document.Digest(a.asks(nil).Questions[0].Questions)
	if err != nil {
		return nil, err
	}
	for i := range resume.Questions {
		given := &resume.Questions[i].Request
		if given.ID != a.requestID {
			return nil, fmt.Errorf("it is about request %s, and this call asked %s", given.ID, a.requestID)
		}
		if theirs, err := document.Digest(given.Questions); err != nil || theirs != mine {
			return nil, fmt.Errorf("its question is %s", prompt.QuestionText(given))
		}
	}
	return &resume.Questions[len(resume.Questions)-1], nil
}

// finished returns the report of a call that finds the run ended.
func (a *asking) finished(ctx context.Context, view *api.RunView) (askReport, error) {
	var report askReport
	switch {
	case a.key != "" && view.Status == api.StatusCompleted && json.Unmarshal(view.Output, &report) == nil && report.Outcome != "":
		if a.input.Sensitive && report.Outcome == string(api.OutcomeAnswered) {
			return report, fmt.Errorf("this key was already used for run %s, whose answer was not stored because it is sensitive; ask with another --key", view.RunID)
		}
		a.terminal.Say("this key was already used for run %s; this is its result. To ask again, use another --key", view.RunID)
		return report, nil
	case view.Status == api.StatusCompleted && len(view.Output) == 0:
		return report, fmt.Errorf("run %s has no answer: someone else completed it, or its answer was redacted", view.RunID)
	case view.Status == api.StatusCompleted:
		return report, fmt.Errorf("run %s was completed by someone else, without an answer", view.RunID)
	case view.Status == api.StatusFailed:
		return report, fmt.Errorf("run %s failed: %s", view.RunID, console.Printable(view.Error, false))
	}
	settled, err := a.outcomeOf(ctx)
	if err != nil {
		return report, err
	}
	report = askReport{Outcome: string(api.OutcomeCancelled), Answers: []string{}, Reason: cmp.Or(settled.Reason, view.Error), ResolvedBy: settled.ResolvedBy}
	if settled.Outcome == api.OutcomeExpired {
		report.Outcome = string(api.OutcomeExpired)
	}
	return report, nil
}

// print prints the answer and returns the exit code.
func (a *asking) print(report askReport) error {
	code := console.ExitDone
	switch report.Outcome {
	case string(api.OutcomeAnswered):
	case string(api.OutcomeExpired):
		if a.command.Default == nil {
			a.terminal.Say("nobody answered in time")
			code = console.ExitExpired
			break
		}
		a.terminal.Say("nobody answered in time; using the default")
		report.Answers = []string{*a.command.Default}
	default:
		a.terminal.Say("%s%s", report.Outcome, by(report.ResolvedBy, report.Reason))
		code = console.ExitDenied
	}
	if a.command.JSON {
		if err := console.PrintJSON(a.terminal.Stdout, report); err != nil {
			return err
		}
		return console.ExitWith(code)
	}
	for _, answer := range report.Answers {
		line := strings.Join(strings.FieldsFunc(answer, func(r rune) bool { return r == '\n' || r == '\r' }), " ")
		if _, err := fmt.Fprintln(a.terminal.Stdout, line); err != nil {
			return err
		}
	}
	return console.ExitWith(code)
}
