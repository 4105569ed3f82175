package hermes

import (
	"bytes"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Limits of what a caller sends, in bytes.
const (
	// MaxBodyBytes bounds a body, as the original does (hermes.md 2.1).
	MaxBodyBytes = 20 << 20
	// MaxResponseBytes bounds one answer, which is kept and shown to every stream: what
	// the native API takes by default for a whole body.
	MaxResponseBytes = wire.DefaultMaxBodyBytes
)

// approvalBody and clarifyBody are what is read of a body. The original takes any
// value for any member, and so the values are looked at one by one; a member that is
// absent is nil.
type approvalBody struct {
	SessionID  api.JSON `json:"session_id"`
	Choice     api.JSON `json:"choice"`
	ApprovalID api.JSON `json:"approval_id"`
}

type clarifyBody struct {
	SessionID api.JSON `json:"session_id"`
	Response  api.JSON `json:"response"`
	Answer    api.JSON `json:"answer"`
	Choice    api.JSON `json:"choice"`
	ClarifyID api.JSON `json:"clarify_id"`
}

// readBody reads a body into a value, whatever its media type. One that is no JSON
// object reads as {} (hermes.md 2.1). Errors: payload_too_large, bad_request.
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
	decodeBody(text.Bytes(), into)
	return nil
}

var errTooLarge = refusal.New(wire.CodePayloadTooLarge, "the body must have at most %d bytes", MaxBodyBytes)

// decodeBody decodes all or nothing: a document with an error at its end has no
// member. Of a member that is given twice the last counts, as in the original.
func decodeBody(text []byte, into any) {
	document := jsontext.Value(text)
	if !document.IsValid(jsontext.AllowDuplicateNames(true)) {
		return
	}
	// What does not fit is a document that is no object: it has no members to decode.
	_ = json.Unmarshal(document, into, jsontext.AllowDuplicateNames(true))
}

// truthy reports whether the original takes a value for given: not absent, null,
// false, zero, or empty.
func truthy(value api.JSON) bool {
	switch document.Kind(value) {
	case 't':
		return true
	case '"':
		return textOf(value) != ""
	case '0':
		number, err := strconv.ParseFloat(string(value), 64)
		// A number that no float holds is not zero.
		return err != nil || number != 0
	case '{', '[':
		return len(compact(value)) > len("{}")
	default:
		return false
	}
}

// textOf returns a text, and "" for a value that is none.
func textOf(value api.JSON) string {
	var text string
	if document.Kind(value) != '"' || json.Unmarshal(value, &text) != nil {
		return ""
	}
	return text
}

// idOf returns an id as a caller gave it. One that is no text is given and can be
// nobody's: the name is one that no id has.
func idOf(value api.JSON) string {
	switch {
	case !truthy(value):
		return ""
	case document.Kind(value) == '"':
		return textOf(value)
	default:
		return noID
	}
}

// noID is no valid id.
const noID = "\x00"

// shownText returns a value as a text for a person: a text as it is, anything else in
// its compact form.
func shownText(value api.JSON) string {
	if document.Kind(value) == '"' {
		return textOf(value)
	}
	return compact(value)
}

// compact returns a value without white space.
func compact(value api.JSON) string {
	short := jsontext.Value(slices.Clone(value))
	if short.Compact(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) != nil {
		return string(value)
	}
	return string(short)
}

// response returns the answer of a body, trimmed: its response, else its answer, else
// its choice, whichever is the first that is not null (hermes.md 2.6).
func (b *clarifyBody) response() string {
	value := b.Response
	for _, alias := range []api.JSON{b.Answer, b.Choice} {
		if value == nil || document.Kind(value) == 'n' {
			value = alias
		}
	}
	switch {
	case !truthy(value):
		return ""
	case document.Kind(value) == 't':
		return "True" // the original's word for it
	default:
		return strings.TrimSpace(shownText(value))
	}
}
