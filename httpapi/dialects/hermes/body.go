package hermes

import (
	"bytes"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/internal/cpulimit"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Limits of a request, in bytes.
const (
	// MaxBodyBytes is the maximum size of a body, and MaxChunkedBytes of one without a Content-Length: its caller is
	// charged for that much before it is read.
	MaxBodyBytes    = wire.LongestBodyBytes
	MaxChunkedBytes = wire.DefaultMaxBodyBytes
	// MaxResponseBytes is the maximum size of one answer, which is stored and sent to every stream.
	MaxResponseBytes = wire.DefaultMaxBodyBytes
)

// approvalBody and clarifyBody are the members read from a body. The contract allows any value for
// any member. An absent member is nil.
type approvalBody struct {
	SessionID  api.JSON `json:"session_id"`
	Choice     api.JSON `json:"choice"`
	ApprovalID api.JSON `json:"approval_id"`
	RunID      api.JSON `json:"run_id"`
	Yolo       api.JSON `json:"yolo"`
	kit.Edits
}

type clarifyBody struct {
	SessionID api.JSON `json:"session_id"`
	Response  api.JSON `json:"response"`
	Answer    api.JSON `json:"answer"`
	Choice    api.JSON `json:"choice"`
	ClarifyID api.JSON `json:"clarify_id"`
	kit.Edits
}

// readBody reads a body of any media type, and its members by use, both in a slot of [cpulimit.Do]. A body
// that is not a JSON object, or is invalid anywhere, reads as {}. Errors: payload_too_large; bad_request,
// also for a member that is given twice, of which two readers may take different ones; the errors of use;
// the request context's when it ends while a large body waits for its slot.
func readBody(w http.ResponseWriter, r *http.Request, into any, use func() error) error {
	if r.ContentLength > MaxBodyBytes {
		return errTooLarge
	}
	most, tooLarge := int64(MaxBodyBytes), errTooLarge
	if r.ContentLength < 0 {
		most, tooLarge = MaxChunkedBytes, errChunked
	}
	var text bytes.Buffer
	if _, err := text.ReadFrom(http.MaxBytesReader(w, r.Body, most)); err != nil {
		if errors.As(err, new(*http.MaxBytesError)) {
			return tooLarge
		}
		return refusal.New(api.CodeBadRequest, "the body could not be read to its end")
	}
	body := wire.WithoutMark(text.Bytes())
	return cpulimit.Do(r.Context(), len(body), func() error {
		switch {
		case jsontext.Value(body).IsValid():
			// A body that does not decode is not an object and has no members.
			_ = json.Unmarshal(body, into)
		case jsontext.Value(body).IsValid(jsontext.AllowDuplicateNames(true)):
			return refuse(http.StatusBadRequest, textTwice)
		}
		return use()
	})
}

// given reports whether the contract treats a value as given: not absent, null, false, zero, or
// empty.
func given(value api.JSON) bool {
	switch document.Kind(value) {
	case 't':
		return true
	case '"':
		return kit.Text(value) != ""
	case '0':
		number, err := strconv.ParseFloat(string(value), 64)
		return err != nil || number != 0 // a number that overflows a float is not zero
	case '{', '[':
		return len(kit.Compact(value)) > len("{}")
	default:
		return false
	}
}

// idOf returns a caller's id, "" for none, and [noID] for a value that is not a string.
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

// noID is an invalid id, which matches nothing.
const noID = "\x00"

// otherID returns the name of the first given member, of those that the contract does not name, that is named like
// the id of a request; "" for none. Ignored, it would decide the oldest request.
func otherID(unnamed map[string]api.JSON) string {
	for _, name := range slices.Sorted(maps.Keys(unnamed)) {
		switch withoutMarks.Replace(strings.ToLower(name)) {
		case "approvalid", "clarifyid", "requestid", "handle":
			if given(unnamed[name]) {
				return name
			}
		}
	}
	return ""
}

var withoutMarks = strings.NewReplacer("_", "", "-", "")

// refuseOtherID refuses a call without the contract's id member that has a member named like it.
func refuseOtherID(name, member string) error {
	return refuse(http.StatusBadRequest, wire.Shown(name)+": this contract has no such id, so nothing was decided; send it as "+member)
}

// response returns the body's answer, trimmed: the first of response, answer and choice that is not
// null. true becomes "True".
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
