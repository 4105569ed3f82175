package relay

import (
	"fmt"
	"net/http"

	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
)

// Errors (docs/spec/relay.md#errors).
var (
	errInvalidJSON     = refuse("Invalid JSON body")
	errChatIncomplete  = refuse("model and messages are required")
	errRelayIncomplete = refuse("sessionId and response are required")
	errUnclearAnswer   = refuse("response.approved must be true or false")
	errUnknownSession  = &kit.Error{Status: http.StatusNotFound, Body: failure{"Session not found"}}
	errUnknownRelay    = &kit.Error{Status: http.StatusNotFound, Body: failure{"Relay not found"}}
)

type failure struct {
	Error string `json:"error"`
}

// refuse returns a 400 with a text.
func refuse(format string, args ...any) *kit.Error {
	return &kit.Error{Status: http.StatusBadRequest, Body: failure{fmt.Sprintf(format, args...)}}
}

// refusalOf returns an error with its status from /v1. An invalid call is 400 instead of 422,
// because clients know no other.
func refusalOf(err error) *kit.Error {
	reply := kit.Refusal(err, func(detail string) any { return failure{detail} })
	if reply.Status == http.StatusUnprocessableEntity {
		reply.Status = http.StatusBadRequest
	}
	return reply
}
