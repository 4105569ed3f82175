package work

import (
	"context"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/internal/calltrace"
	"github.com/holdpoint/holdpoint/runs/model"
)

// linkResume links a worker's call that receives decisions to the calls that raised the requests.
func linkResume(ctx context.Context, resume *api.Resume) {
	link := linker(ctx)
	if link == nil || resume == nil {
		return
	}
	for i := range resume.Approvals {
		link(resume.Approvals[i].Request.Traceparent)
	}
	for i := range resume.Questions {
		link(resume.Questions[i].Request.Traceparent)
	}
	if resume.Clarification != nil {
		link(resume.Clarification.Traceparent)
	}
}

// linkSettled is linkResume for an attached worker.
func linkSettled(ctx context.Context, requests []model.Request) {
	link := linker(ctx)
	if link == nil {
		return
	}
	for i := range requests {
		var asked struct {
			traced
			// Request is the question for the parent's session.
			Request traced `json:"request"`
		}
		_ = json.Unmarshal(requests[i].Body, &asked) // an unreadable request has no link
		link(asked.Traceparent)
		link(asked.Request.Traceparent)
	}
}

// linkMessages is linkResume for answers of the parent's session that arrive by mailbox.
func linkMessages(ctx context.Context, messages []model.Message) {
	link := linker(ctx)
	if link == nil {
		return
	}
	for i := range messages {
		var answer traced
		_ = json.Unmarshal(messages[i].Payload, &answer) // as above
		link(answer.Traceparent)
	}
}

type traced struct {
	Traceparent string `json:"traceparent"`
}

// linker returns a function that links a call's span to others, each once. It is nil without
// tracing.
func linker(ctx context.Context) func(traceparent string) {
	link := calltrace.Of(ctx).Link
	if link == nil {
		return nil
	}
	linked := map[string]bool{"": true}
	return func(traceparent string) {
		if !linked[traceparent] {
			linked[traceparent] = true
			link(traceparent)
		}
	}
}
