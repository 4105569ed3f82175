package cli

import (
	"context"
	"errors"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

type questionsAnswer struct {
	connection
	format
	pendingRef
	following
	RequestID      string `arg:"" name:"request-id" help:"The request's id or handle."`
	AnswersJSON    string `name:"answers-json" placeholder:"JSON" help:"An array of {question_id, selected_option_ids, freeform_answer}."`
	AnswersFile    string `name:"answers-file" placeholder:"PATH" help:"The same, from a file; - for stdin."`
	ValueJSON      string `name:"value-json" placeholder:"JSON" help:"The value, for a question that is typed by a schema."`
	Interactive    bool   `help:"Be asked at the terminal."`
	Declined       bool   `help:"Decline to answer; the run goes on and is told so."`
	Justification  string `placeholder:"TEXT" help:"Why, for the record."`
	IdempotencyKey string `name:"idempotency-key" placeholder:"KEY" help:"Makes the call one that may be repeated, also after it succeeded."`
}

// Run answers one question request, always on its run.
func (c *questionsAnswer) Run(ctx context.Context, console *console) error {
	if err := c.check(); err != nil {
		return err
	}
	opened, err := c.open()
	if err != nil {
		return err
	}
	defer opened.Close()
	item, err := c.question(ctx, opened, c.RequestID)
	switch {
	case err == nil:
	case errors.Is(err, errNotOpen) && c.RunID != "" && !c.Interactive:
		// The service says what became of it, or recognizes the key.
		item = &api.PendingQuestionView{RunID: c.RunID, Request: api.UserQuestionRequest{ID: c.RequestID}}
	default:
		return c.reached(err)
	}
	resolution, err := c.resolution(console, &item.Request)
	if err != nil {
		return err
	}
	run, err := opened.AnswerRunQuestion(ctx, item.RunID, client.AnswerQuestionParams{
		Resolution: resolution, IdempotencyKey: c.IdempotencyKey,
	})
	if err != nil {
		return c.reached(err)
	}
	followed, err := c.follow(ctx, opened, &run.RunView)
	if err != nil {
		return c.reached(err)
	}
	run.RunView = *followed
	if err := decided(console, c.JSON, item.Request.ID, answeredAs(&resolution), run); err != nil {
		return err
	}
	return c.ended(followed)
}

func (c *questionsAnswer) check() error {
	given := 0
	for _, way := range []bool{c.AnswersJSON != "", c.AnswersFile != "", c.ValueJSON != "", c.Interactive, c.Declined} {
		if way {
			given++
		}
	}
	if given != 1 {
		return badAnswer(given)
	}
	return nil
}

func (c *questionsAnswer) resolution(console *console, request *api.UserQuestionRequest) (api.UserQuestionResolution, error) {
	resolution := api.UserQuestionResolution{RequestID: request.ID, Declined: c.Declined, Justification: c.Justification}
	switch {
	case c.Declined:
		return resolution, nil
	case c.Interactive:
		return askAtTerminal(console, request, resolution)
	case c.ValueJSON != "":
		value, err := jsonArgument(console, "--value-json", c.ValueJSON, "")
		resolution.Value = value
		return resolution, err
	}
	text, err := jsonArgument(console, "--answers", c.AnswersJSON, c.AnswersFile)
	if err != nil {
		return resolution, err
	}
	// An unknown member would be an answer that is silently lost.
	if err := json.Unmarshal(text, &resolution.Answers, json.RejectUnknownMembers(true)); err != nil {
		return resolution, usage("the answers must be an array of {question_id, selected_option_ids, freeform_answer}: %w", err)
	}
	if len(resolution.Answers) == 0 {
		return resolution, usage("there are no answers in the array; to decline, say --declined")
	}
	return resolution, nil
}

// errNoMoreInput: stdin ended before everything was answered.
var errNoMoreInput = errors.New("the input ended before the question was answered; nothing was sent")
