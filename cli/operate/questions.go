package operate

import (
	"context"
	"strings"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
)

// Questions is holdpoint questions.
type Questions struct {
	List   list[api.PendingQuestionView, questionFilter] `cmd:"" help:"List open questions."`
	Show   show[api.PendingQuestionView, questionRef]    `cmd:"" help:"Show one question whole."`
	Answer questionsAnswer                               `cmd:"" help:"Answer or decline one question."`
	Cancel questionsCancel                               `cmd:"" help:"Cancel one question, and with it the run."`
}

// questionFilter lists the open questions in the order of session, run and request.
type questionFilter struct{ ofSession }

func (f questionFilter) read(ctx context.Context, c *client.Client) ([]api.PendingQuestionView, error) {
	return collect(c.AllQuestions(ctx, client.PendingListParams{SessionID: f.SessionID}), 0)
}

func (questionFilter) table() table[api.PendingQuestionView] {
	return table[api.PendingQuestionView]{
		[]string{"REQUEST", "SESSION", "ASKED BY", "QUESTION", "OPTIONS", "RAISED", "EXPIRES"},
		func(item *api.PendingQuestionView, now time.Time) []string {
			request := &item.Request
			return []string{
				request.ID, item.SessionID, askedBy(item), console.Cell(console.QuestionText(request), 60), console.Cell(choicesOf(request), 40),
				console.Ago(request.CreatedAtMs, now), console.Ago(valueOf(request.ExpiresAtMs), now),
			}
		},
	}
}

// askedBy names the agent that asks, and, of a parent clarification, its session.
func askedBy(item *api.PendingQuestionView) string {
	if item.RequesterSessionID == "" {
		return item.AgentID
	}
	return item.RequesterAgentID + " (" + item.RequesterSessionID + ")"
}

// requester describes who asks a parent clarification, and in which context.
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
	return r.question(ctx, c, r.RequestID)
}

func (questionRef) fields(item *api.PendingQuestionView, now time.Time) []console.Field {
	request := &item.Request
	fields := []console.Field{
		{"request", request.ID},
		{"handle", request.Handle},
		{"session", item.SessionID},
		{"run", item.RunID},
		{"agent", item.AgentID},
		{"kind", request.Kind},
	}
	fields = append(fields, requester(item)...)
	for i := range request.Questions {
		question := &request.Questions[i]
		fields = append(fields, console.Field{"question " + question.ID, describeQuestion(question)})
	}
	return append(fields, []console.Field{
		{"payload", console.Indented(request.Payload)},
		{"the value must fit", console.Indented(request.ResponseSchema)},
		{"raised", console.Moment(request.CreatedAtMs, now)},
		{"expires", console.Moment(valueOf(request.ExpiresAtMs), now)},
	}...)
}

func describeQuestion(question *api.UserQuestion) string {
	var text strings.Builder
	text.WriteString(question.Question)
	for _, option := range question.Options {
		text.WriteString("\n- " + option.ID)
		if option.Label != option.ID {
			text.WriteString(": " + option.Label)
		}
		if option.Description != "" {
			text.WriteString(" (" + option.Description + ")")
		}
	}
	if question.MultiSelect {
		text.WriteString("\nseveral may be chosen")
	}
	return text.String()
}

type questionsCancel struct {
	console.Connection
	console.Format
	requestRef
	Justification  string `placeholder:"TEXT" help:"Why, for the record."`
	IdempotencyKey string `name:"idempotency-key" placeholder:"KEY" help:"Makes the call one that may be repeated, also after it succeeded; needs --run-id."`
}

// Run cancels one question. With a key it does not look first whether the question
// is open, so that a repeat of a call that succeeded is recognized.
func (c *questionsCancel) Run(ctx context.Context, terminal *console.Console) error {
	if c.IdempotencyKey != "" && c.RunID == "" {
		return console.Usage("--idempotency-key needs --run-id")
	}
	return c.Call(func(opened *client.Client) error {
		runID, requestID := c.RunID, c.RequestID
		if c.IdempotencyKey == "" {
			item, err := c.question(ctx, opened, c.RequestID)
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
		return printDecided(terminal, c.JSON, requestID, "cancelled", run)
	})
}
