package httpapi

import (
	"context"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// linkResume links the call that hands decisions to a worker to the calls that asked for them.
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

// linkSettled is linkResume for a worker that stayed attached.
func linkSettled(ctx context.Context, requests []model.Request) {
	link := linker(ctx)
	if link == nil {
		return
	}
	for i := range requests {
		var asked struct {
			traced
			// Request is what was asked of the parent's session.
			Request traced `json:"request"`
		}
		_ = json.Unmarshal(requests[i].Body, &asked) // one that cannot be read links nothing
		link(asked.Traceparent)
		link(asked.Request.Traceparent)
	}
}

// linkMessages is linkResume for the answers of a parent's session that come by the mailbox.
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

// linker links the span of a call to others, each once. It is nil where nothing is traced.
func linker(ctx context.Context) func(traceparent string) {
	link := runs.TraceOf(ctx).Link
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
