package wire

import (
	"net/url"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// WantsSummary reads ?fields=summary. Errors: bad_request for other values.
func WantsSummary(query url.Values) (bool, error) {
	switch fields := query.Get("fields"); {
	case fields == "summary":
		return true, nil
	case fields != "" || query.Has("fields"):
		return false, refusal.New(api.CodeBadRequest, `fields must be "summary" or absent`)
	}
	return false, nil
}

// Summarize truncates the input of an approval for lists (docs/spec/v1.md#summary).
func Summarize(approval *api.ApprovalRequest) {
	if len(approval.Input) <= api.MaxSummaryInputBytes {
		return
	}
	cut := api.MaxSummaryInputBytes
	for cut > 0 && !utf8.RuneStart(approval.Input[cut]) {
		cut--
	}
	text, err := jsontext.AppendQuote(nil, approval.Input[:cut])
	if err != nil {
		text = []byte(`""`)
	}
	approval.Input, approval.InputTruncated, approval.InputBytes = text, true, int64(len(approval.Input))
}

// waitingBody is an event that raises approvals.
type waitingBody struct {
	Type       api.EventType         `json:"type"`
	RequestIDs []string              `json:"request_ids,omitempty"`
	Requests   []api.ApprovalRequest `json:"requests,omitempty"`
	Others     jsontext.Value        `json:",embed"`
}

// SummarizeEvent truncates the inputs of approvals that an event raises. It returns other events
// unchanged.
func SummarizeEvent(entry api.RunEventEntry, eventType api.EventType) api.RunEventEntry {
	if eventType != api.EventWaitingForApproval || len(entry.Event) <= api.MaxSummaryInputBytes {
		return entry
	}
	options := json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	var body waitingBody
	if err := json.Unmarshal(entry.Event, &body, options); err != nil {
		return entry
	}
	for i := range body.Requests {
		Summarize(&body.Requests[i])
	}
	if text, err := json.Marshal(body, options); err == nil {
		entry.Event = text
	}
	return entry
}
