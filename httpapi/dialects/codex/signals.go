package codex

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/holdpoint/holdpoint/api"
)

// signal is a request as the runtime would have sent it (docs/spec/codex.md#signals). Clients that
// automate decisions listen for signals.
type signal struct {
	Source     string        `json:"source"`
	SignalType string        `json:"signalType"`
	EventType  string        `json:"eventType"`
	Method     string        `json:"method"`
	ReceivedAt string        `json:"receivedAt"`
	Context    signalContext `json:"context"`
	Params     api.JSON      `json:"params"`
	Session    *struct{}     `json:"session"`
	RequestID  string        `json:"requestId"`
}

type signalContext struct {
	ThreadID string `json:"threadId"`
	TurnID   string `json:"turnId"`
}

func signalOf(method, requestID, threadID, turnID, createdAt string, params api.JSON) *signal {
	return &signal{
		Source: "app_server", SignalType: "request", EventType: "app_server.request." + signalName(method), Method: method,
		ReceivedAt: createdAt, Context: signalContext{threadID, turnID}, Params: params, RequestID: requestID,
	}
}

var (
	noLetterOrDigit = regexp.MustCompile(`[^A-Za-z0-9]+`)
	wordEnd         = regexp.MustCompile(`([a-z0-9])([A-Z])`)
	acronymEnd      = regexp.MustCompile(`([A-Z]+)([A-Z][a-z])`)
)

// signalName converts item/fileChange/requestApproval to item.file_change.request_approval.
func signalName(method string) string {
	var parts []string
	for part := range strings.SplitSeq(method, "/") {
		part = noLetterOrDigit.ReplaceAllString(part, "_")
		part = wordEnd.ReplaceAllString(acronymEnd.ReplaceAllString(part, "${1}_$2"), "${1}_$2")
		parts = append(parts, cmp.Or(strings.ToLower(strings.Trim(part, "_")), "unknown"))
	}
	return strings.Join(parts, ".")
}
