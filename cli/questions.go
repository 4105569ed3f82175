package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

type questionCommands struct {
	List   questionsList   `cmd:"" help:"List open questions."`
	Show   questionsShow   `cmd:"" help:"Show one question whole."`
	Answer questionsAnswer `cmd:"" help:"Answer or decline one question."`
	Cancel questionsCancel `cmd:"" help:"Cancel one question, and with it the run."`
}

// textOf returns what a request asks, in one text.
func textOf(request *api.UserQuestionRequest) string {
	var texts []string
	for _, question := range request.Questions {
		texts = append(texts, question.Question)
	}
	if len(texts) > 0 {
		return strings.Join(texts, " / ")
	}
	var payload struct {
		Question string `json:"question"`
	}
	if json.Unmarshal(request.Payload, &payload) == nil && payload.Question != "" {
		return payload.Question
	}
	if request.Payload != nil {
		return compact(request.Payload)
	}
	return compact(request.ResponseSchema)
}

type questionsList struct {
	connection
	format
	SessionID string `name:"session-id" placeholder:"ID" help:"Only those of this session."`
}

// Run prints the open questions in the order of session, run and request.
func (c *questionsList) Run(ctx context.Context, console *console) error {
	opened, err := c.open()
	if err != nil {
		return err
	}
	defer opened.Close()
	items, err := collect(opened.AllQuestions(ctx, client.PendingListParams{SessionID: c.SessionID}), 0)
	if err != nil {
		return c.reached(err)
	}
	if c.JSON {
		return printJSON(console.stdout, items)
	}
	rows := make([][]string, len(items))
	for i, item := range items {
		request := item.Request
		rows[i] = []string{
			request.ID, item.SessionID, askedBy(&item), cell(textOf(&request), 60), cell(choicesOf(&request), 40),
			ago(request.CreatedAtMs, console.now()), expiry(request.ExpiresAtMs, console),
		}
	}
	return table(console.stdout, []string{"REQUEST", "SESSION", "ASKED BY", "QUESTION", "OPTIONS", "RAISED", "EXPIRES"}, rows)
}

// askedBy names the agent that asks, and, of a parent clarification, its session.
func askedBy(item *api.PendingQuestionView) string {
	if item.RequesterSessionID == "" {
		return item.AgentID
	}
	return item.RequesterAgentID + " (" + item.RequesterSessionID + ")"
}

// requester describes who asks a parent clarification, and in which context.
func requester(item *api.PendingQuestionView) []field {
	if item.RequesterSessionID == "" {
		return nil
	}
	who := item.RequesterAgentID + ", in run " + item.RequesterRunID + " of session " + item.RequesterSessionID
	if item.RequesterToolCallID != "" {
		who += ", for tool call " + item.RequesterToolCallID
	}
	return []field{
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

type questionsShow struct {
	connection
	format
	pendingRef
	RequestID string `arg:"" name:"request-id" help:"The request's id or handle."`
}

// Run prints one open question request.
func (c *questionsShow) Run(ctx context.Context, console *console) error {
	opened, err := c.open()
	if err != nil {
		return err
	}
	defer opened.Close()
	item, err := c.question(ctx, opened, c.RequestID)
	if err != nil {
		return c.reached(err)
	}
	if c.JSON {
		return printJSON(console.stdout, item)
	}
	request, now := item.Request, console.now()
	fields := []field{
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
		fields = append(fields, field{"question " + question.ID, describeQuestion(question)})
	}
	if request.Payload != nil {
		fields = append(fields, field{"payload", indented(request.Payload)})
	}
	if request.ResponseSchema != nil {
		fields = append(fields, field{"the value must fit", indented(request.ResponseSchema)})
	}
	fields = append(fields, field{"raised", moment(request.CreatedAtMs, now)})
	if request.ExpiresAtMs != nil {
		fields = append(fields, field{"expires", moment(*request.ExpiresAtMs, now)})
	}
	return describe(console.stdout, fields)
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
	connection
	format
	pendingRef
	RequestID      string `arg:"" name:"request-id" help:"The request's id or handle."`
	Justification  string `placeholder:"TEXT" help:"Why, for the record."`
	IdempotencyKey string `name:"idempotency-key" placeholder:"KEY" help:"Makes the call one that may be repeated, also after it succeeded; needs --run-id."`
}

// Run cancels one question. With a key it does not look first whether the question
// is open, so that a repeat of a call that succeeded is recognized.
func (c *questionsCancel) Run(ctx context.Context, console *console) error {
	if c.IdempotencyKey != "" && c.RunID == "" {
		return usage("--idempotency-key needs --run-id")
	}
	opened, err := c.open()
	if err != nil {
		return err
	}
	defer opened.Close()
	runID, requestID := c.RunID, c.RequestID
	if c.IdempotencyKey == "" {
		item, err := c.question(ctx, opened, c.RequestID)
		if err != nil {
			return c.reached(err)
		}
		runID, requestID = item.RunID, item.Request.ID
	} else if err := c.agree(ctx, opened); err != nil {
		return c.reached(err)
	}
	run, err := opened.CancelQuestion(ctx, runID, requestID, client.CancelQuestionParams{
		Justification: c.Justification, IdempotencyKey: c.IdempotencyKey,
	})
	if err != nil {
		return c.reached(err)
	}
	return decided(console, c.JSON, requestID, "cancelled", run)
}

// answeredAs names what an answer does, for the one who gave it.
func answeredAs(resolution *api.UserQuestionResolution) string {
	if resolution.Declined {
		return "declined"
	}
	return "answered"
}

// badAnswer tells which of the ways to answer was not given or given twice.
func badAnswer(given int) error {
	if given == 0 {
		return usage("say the answer: --interactive, --answers-json, --answers-file, --value-json or --declined")
	}
	return usage("%s", fmt.Sprintf("%d answers were given; give one", given))
}
