package operate

import (
	"context"
	"errors"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
)

type questionsAnswer struct {
	console.Connection
	console.Format
	requestRef
	following
	AnswersJSON string `name:"answers-json" placeholder:"JSON" help:"An array of {question_id, selected_option_ids, freeform_answer}."`
	AnswersFile string `name:"answers-file" placeholder:"PATH" help:"The same, from a file; - for stdin."`
	ValueJSON   string `name:"value-json" placeholder:"JSON" help:"The value, for a question that is typed by a schema."`
	Interactive bool   `help:"Be asked at the terminal."`
	Declined    bool   `help:"Decline to answer; the run goes on and is told so."`
	onRecord
}

// Run answers one question request, always on its run.
func (c *questionsAnswer) Run(ctx context.Context, terminal *console.Console) error {
	if err := c.check(); err != nil {
		return err
	}
	return c.Call(func(opened *client.Client) error {
		item, err := c.question(ctx, opened, c.RequestID)
		switch {
		case err == nil:
		case errors.Is(err, errNotOpen) && c.RunID != "" && !c.Interactive:
			// The service says what became of it, or recognizes the key.
			item = &api.PendingQuestionView{RunID: c.RunID, Request: api.UserQuestionRequest{ID: c.RequestID}}
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

// check requires exactly one of the ways to answer.
func (c *questionsAnswer) check() error {
	given := 0
	for _, way := range []bool{c.AnswersJSON != "", c.AnswersFile != "", c.ValueJSON != "", c.Interactive, c.Declined} {
		if way {
			given++
		}
	}
	switch given {
	case 0:
		return console.Usage("say the answer: --interactive, --answers-json, --answers-file, --value-json or --declined")
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
	case c.Interactive:
		return console.NewPrompter(terminal).Answers(request, resolution)
	case c.ValueJSON != "":
		value, err := jsonArgument(terminal, "--value-json", c.ValueJSON, "")
		resolution.Value = value
		return resolution, err
	}
	text, err := jsonArgument(terminal, "--answers", c.AnswersJSON, c.AnswersFile)
	if err != nil {
		return resolution, err
	}
	// An unknown member would be an answer that is silently lost.
	if err := json.Unmarshal(text, &resolution.Answers, json.RejectUnknownMembers(true)); err != nil {
		return resolution, console.Usage("the answers must be an array of {question_id, selected_option_ids, freeform_answer}: %w", err)
	}
	if len(resolution.Answers) == 0 {
		return resolution, console.Usage("there are no answers in the array; to decline, say --declined")
	}
	return resolution, nil
}
