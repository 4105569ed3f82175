package hermes

import (
	"bytes"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Limits of what a caller sends, in bytes.
const (
	// MaxBodyBytes bounds a body.
	MaxBodyBytes = 20 << 20
	// MaxResponseBytes bounds one answer, which is stored and sent to every stream.
	MaxResponseBytes = wire.DefaultMaxBodyBytes
)

// approvalBody and clarifyBody are what is read of a body. The contract takes any value
// for any member; a member that is absent is nil.
type approvalBody struct {
	SessionID  api.JSON `json:"session_id"`
	Choice     api.JSON `json:"choice"`
	ApprovalID api.JSON `json:"approval_id"`
	RunID      api.JSON `json:"run_id"`
	Yolo       api.JSON `json:"yolo"`
}

type clarifyBody struct {
	SessionID api.JSON `json:"session_id"`
	Response  api.JSON `json:"response"`
	Answer    api.JSON `json:"answer"`
	Choice    api.JSON `json:"choice"`
	ClarifyID api.JSON `json:"clarify_id"`
}

// readBody reads a body of any media type. One that is no JSON object, or that has an
// error anywhere, reads as {}; of a member that is given twice the last counts. Errors:
// payload_too_large, bad_request.
func readBody(w http.ResponseWriter, r *http.Request, into any) error {
	if r.ContentLength > MaxBodyBytes {
		return errTooLarge
	}
	var text bytes.Buffer
	if _, err := text.ReadFrom(http.MaxBytesReader(w, r.Body, MaxBodyBytes)); err != nil {
		var limit *http.MaxBytesError
		if errors.As(err, &limit) {
			return errTooLarge
		}
		return refusal.New(api.CodeBadRequest, "the body could not be read to its end")
	}
	body := wire.WithoutMark(text.Bytes())
	if jsontext.Value(body).IsValid(jsontext.AllowDuplicateNames(true)) {
		// What does not fit is no object, and has no members.
		_ = json.Unmarshal(body, into, jsontext.AllowDuplicateNames(true))
	}
	return nil
}

// given reports whether the contract takes a value for given: it is not absent, null,
// false, zero, or empty.
func given(value api.JSON) bool {
	switch document.Kind(value) {
	case 't':
		return true
	case '"':
		return kit.Text(value) != ""
	case '0':
		number, err := strconv.ParseFloat(string(value), 64)
		return err != nil || number != 0 // a number that no float holds is not zero
	case '{', '[':
		return len(kit.Compact(value)) > len("{}")
	default:
		return false
	}
}

// idOf returns an id as a caller gave it, "" when none was given, and [noID] for a value
// that is no text.
func idOf(value api.JSON) string {
	switch {
	case !given(value):
		return ""
	case document.Kind(value) == '"':
		return kit.Text(value)
	default:
		return noID
	}
}

// noID is no valid id, so nothing is found under it.
const noID = "\x00"

// response returns the answer of a body, trimmed: the first of its response, answer and
// choice that is not null. True is written "True".
func (b *clarifyBody) response() string {
	value := b.Response
	for _, alias := range []api.JSON{b.Answer, b.Choice} {
		if value == nil || document.Kind(value) == 'n' {
			value = alias
		}
	}
	switch {
	case !given(value):
		return ""
	case document.Kind(value) == 't':
		return "True"
	default:
		return strings.TrimSpace(kit.Label(value))
	}
}
