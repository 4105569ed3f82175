package operate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/prompt"
)

// Questions is the command holdpoint questions.
type Questions struct {
	List        list[api.PendingQuestionView, questionFilter] `cmd:"" help:"List open questions."`
	Show        show[api.PendingQuestionView, questionRef]    `cmd:"" help:"Show a question."`
	Acknowledge show[api.RequestView, ackQuestion]            `cmd:"" help:"Show others that you are looking at a question."`
	Answer      questionsAnswer                               `cmd:"" help:"Answer or decline a question."`
	Cancel      questionsCancel                               `cmd:"" help:"Cancel a question and its run."`
}

// questionFilter lists the open questions, ordered by session, run and request.
type questionFilter struct{ ofSession }

func (f questionFilter) read(ctx context.Context, c *client.Client) ([]api.PendingQuestionView, error) {
	return collect(c.AllQuestions(ctx, client.PendingListParams{SessionID: f.SessionID, Below: true}), 0)
}

func (questionFilter) table() table[api.PendingQuestionView] {
	return table[api.PendingQuestionView]{
		header: []string{"HANDLE", "REQUEST", "SESSION", "ASKED BY", "QUESTION", "OPTIONS", "RAISED", "EXPIRES"},
		row: func(item *api.PendingQuestionView, now time.Time) []string {
			request := &item.Request
			return []string{
				console.ShortHandle(request.Handle), request.ID, console.SessionName(item.SessionID, item.ParentSessionID), askedBy(item), console.Cut(prompt.QuestionText(request), 60), console.Cut(choicesOf(request), 40),
				console.Ago(request.CreatedAtMs, now), console.Ago(prompt.DeadlineMs(request.ExpiresAtMs, request.Escalation), now),
			}
		},
		note: func(item *api.PendingQuestionView, _ time.Time) string { return noteOf(item.Explain) },
	}
}

// askedBy returns the agent that asks and, for a parent clarification, its session.
func askedBy(item *api.PendingQuestionView) string {
	if item.RequesterSessionID == "" {
		return item.AgentID
	}
	return item.RequesterAgentID + " (" + item.RequesterSessionID + ")"
}

// requester describes who asks a parent clarification, and its context.
func requester(item *api.PendingQuestionView) []console.Field {
	if item.RequesterSessionID == "" {
		return nil
	}
	who := item.RequesterAgentID + ", in run " + item.RequesterRunID + " of session " + item.RequesterSessionID
	if item.RequesterToolCallID != "" {
		who += ", for tool call " + item.RequesterToolCallID
	}
	return []console.Field{
		{"asked by", who},
		{"of projects", strings.Join(item.RequesterProjectIDs, ", ")},
		{"of channels", strings.Join(item.RequesterChannelIDs, ", ")},
		{"parent's projects", strings.Join(item.ParentProjectIDs, ", ")},
		{"parent's channels", strings.Join(item.ParentChannelIDs, ", ")},
	}
}

func choicesOf(request *api.UserQuestionRequest) string {
	if len(request.Questions) != 1 {
		return ""
	}
	var labels []string
	for _, option := range request.Questions[0].Options {
		labels = append(labels, option.Label)
	}
	return strings.Join(labels, ", ")
}

// questionRef names one open question request.
type questionRef struct{ requestRef }

func (r questionRef) find(ctx context.Context, c *client.Client) (*api.PendingQuestionView, error) {
	item, _, err := r.question(ctx, c, r.RequestID)
	return item, err
}

func (questionRef) fields(item *api.PendingQuestionView, now time.Time) []console.Field {
	request := &item.Request
	fields := []console.Field{
		{"request", request.ID},
		{"handle", request.Handle},
		{"session", item.SessionID},
		{"parent session", item.ParentSessionID},
		{"run", item.RunID},
		{"agent", item.AgentID},
	}
	fields = append(fields, aboutFields(item.Session)...)
	fields = append(fields, requester(item)...)
	fields = append(fields, console.FieldsOf(prompt.OfQuestion(request), now)...)
	return append(fields, []console.Field{
		{"looking", lookers(item.Acknowledgement, now)},
		{"you snooze it", snoozeText(item.SnoozedUntilMs, now)},
	}...)
}

type questionsCancel struct {
	console.Reporting
	requestRef
	Justification  string `placeholder:"TEXT" help:"Reason to record."`
	IdempotencyKey string `name:"idempotency-key" placeholder:"KEY" help:"Makes retries safe: the same key never acts twice. Requires --run-id."`
}

// Run cancels a question. With a key it does not first check that the question is open, so
// that the repeat of a successful call is recognized.
func (c *questionsCancel) Run(ctx context.Context, terminal *console.Console) error {
	if c.IdempotencyKey != "" && c.RunID == "" {
		return console.Usage("--idempotency-key needs --run-id")
	}
	return c.Call(func(opened *client.Client) error {
		runID, requestID := c.RunID, c.RequestID
		if c.IdempotencyKey == "" {
			item, _, err := c.question(ctx, opened, c.RequestID)
			if err != nil {
				return err
			}
			runID, requestID = item.RunID, item.Request.ID
		} else if err := c.requirePair(ctx, opened); err != nil {
			return err
		}
		run, err := opened.CancelQuestion(ctx, runID, requestID, client.CancelQuestionParams{
			Justification: c.Justification, IdempotencyKey: c.IdempotencyKey,
		})
		if err != nil {
			return err
		}
		return printDecided(terminal, c.JSON, requestID, "cancelled", run, nil)
	})
}

type questionsAnswer struct {
	console.Reporting
	requestRef
	following
	AnswersJSON string   `name:"answers-json" placeholder:"JSON" help:"Answers as an array of {question_id, selected_option_ids, freeform_answer}."`
	AnswersFile string   `name:"answers-file" placeholder:"PATH" help:"Read the answers from a file; - for stdin."`
	ValueJSON   string   `name:"value-json" placeholder:"JSON" help:"Value for a question with a JSON Schema."`
	Interactive bool     `help:"Answer interactively at the terminal."`
	Option      []string `sep:"none" placeholder:"OPTION" help:"Choose an option of a single question by id or label; repeatable."`
	Answer      string   `placeholder:"TEXT" help:"Answer a single question in free text, alone or with --option."`
	Declined    bool     `help:"Decline to answer; the run continues and learns of it."`
	onRecord
}

// Run answers a question, always on its run.
func (c *questionsAnswer) Run(ctx context.Context, terminal *console.Console) error {
	if err := c.check(); err != nil {
		return err
	}
	return c.Call(func(opened *client.Client) error {
		item, byID, err := c.question(ctx, opened, c.RequestID)
		switch {
		case err == nil && byID && c.RunID == "" && !c.Interactive && !c.Declined:
			asked := prompt.QuestionText(&item.Request)
			if !prompt.OnlyQuestion(&item.Request) {
				asked += "\npayload: " + prompt.Indented(item.Request.Payload)
			}
			shown := fmt.Sprintf("question %s of session %s:\n%s", item.Request.ID, item.SessionID, console.Printable(asked, true))
			if err := confirmBareID(terminal, shown, item.Request.Handle, "Send the answer to it? [y/N] ", ", or give --run-id "+item.RunID); err != nil {
				return err
			}
		case err == nil:
		case errors.Is(err, errNotOpen) && c.RunID != "" && !c.Interactive:
			// The service reports its outcome, or recognizes the key.
			item = &api.PendingQuestionView{RunID: c.RunID, Request: api.UserQuestionRequest{ID: c.RequestID}}
			view, unknown := c.settled(ctx, opened, api.RequestQuestion, c.RequestID)
			switch {
			case unknown == nil && view.RunID == c.RunID:
				item.Request = questionOf(view)
			case len(c.Option) > 0 || c.Answer != "":
				return cmp.Or(unknown, err) // the options are not known
			}
		default:
			return err
		}
		resolution, err := c.resolution(terminal, &item.Request)
		if err != nil {
			return err
		}
		run, err := opened.AnswerRunQuestion(ctx, item.RunID, client.AnswerQuestionParams{
			Resolution: resolution, IdempotencyKey: c.IdempotencyKey,
		})
		if err != nil {
			return err
		}
		what := "answered"
		if c.Declined {
			what = "declined"
		}
		return c.finish(ctx, terminal, c.JSON, opened, item.Request.ID, what, run)
	})
}

// check requires exactly one way to answer.
func (c *questionsAnswer) check() error {
	given := 0
	for _, way := range []bool{len(c.Option) > 0 || c.Answer != "", c.AnswersJSON != "", c.AnswersFile != "", c.ValueJSON != "", c.Interactive, c.Declined} {
		if way {
			given++
		}
	}
	switch given {
	case 0:
		return console.Usage("give an answer: --option, --answer, --interactive, --answers-json, --answers-file, --value-json or --declined")
	case 1:
		return nil
	default:
		return console.Usage("%d answers were given; give one", given)
	}
}

func (c *questionsAnswer) resolution(terminal *console.Console, request *api.UserQuestionRequest) (api.UserQuestionResolution, error) {
	resolution := api.UserQuestionResolution{RequestID: request.ID, Declined: c.Declined, Justification: c.Justification}
	switch {
	case c.Declined:
		return resolution, nil
	case len(c.Option) > 0 || c.Answer != "":
		answer, err := c.oneAnswer(request)
		resolution.Answers = []api.UserQuestionAnswer{answer}
		return resolution, err
	case c.Interactive:
		prompter := console.NewPrompter(terminal)
		defer prompter.Close()
		return prompter.Answers(request, resolution)
	case c.ValueJSON != "":
		value, err := jsonArgument(terminal, "--value", c.ValueJSON, "")
		resolution.Value = value
		return resolution, err
	}
	text, err := jsonArgument(terminal, "--answers", c.AnswersJSON, c.AnswersFile)
	if err != nil {
		return resolution, err
	}
	// Refuse unknown members: an answer would be lost silently.
	if err := json.Unmarshal(text, &resolution.Answers, json.RejectUnknownMembers(true)); err != nil {
		return resolution, console.Usage("the answers must be an array of {question_id, selected_option_ids, freeform_answer}: %w", err)
	}
	if len(resolution.Answers) == 0 {
		return resolution, console.Usage("the array of answers is empty; to decline, use --declined")
	}
	return resolution, nil
}

// oneAnswer returns the answer of --option and --answer.
func (c *questionsAnswer) oneAnswer(request *api.UserQuestionRequest) (api.UserQuestionAnswer, error) {
	if len(request.Questions) != 1 {
		return api.UserQuestionAnswer{}, console.Usage("--option and --answer are for a request with one question, and %s has %d", request.ID, len(request.Questions))
	}
	question := &request.Questions[0]
	answer := api.UserQuestionAnswer{QuestionID: question.ID, FreeformAnswer: c.Answer}
	for _, name := range c.Option {
		id, found := console.OptionOf(question, name)
		if !found {
			return answer, console.Usage("%s; choose from: %s", console.NoOption(question, name), choicesOf(request))
		}
		answer.SelectedOptionIDs = append(answer.SelectedOptionIDs, id)
	}
	return answer, nil
}
