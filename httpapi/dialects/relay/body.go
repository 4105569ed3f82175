package relay

import (
	"errors"
	"io"
	"net/http"
	"strconv"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/internal/cpulimit"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// readObject reads a body of any media type. JSON that is not an object has no members. Errors:
// errInvalidJSON, payload_too_large, invalid_request for JSON that nests too deeply or cannot
// be stored unchanged, and the request context's when it ends while a large body waits for a slot.
func (f *face) readObject(w http.ResponseWriter, r *http.Request) (kit.Object, error) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, f.MaxBodyBytes))
	if err != nil {
		if limit, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return nil, refusal.New(wire.CodePayloadTooLarge, "the body must have at most %d bytes", limit.Limit)
		}
		return nil, errInvalidJSON
	}
	text = wire.WithoutMark(text)
	var object kit.Object
	err = cpulimit.Do(r.Context(), len(text), func() error {
		if err := document.Check(text); err != nil {
			return err
		}
		object = kit.ObjectOf(text)
		return nil
	})
	if refusal.CodeOf(err) == api.CodeBadRequest {
		return nil, errInvalidJSON
	}
	return object, err
}

// truthy reports whether a value is truthy in JavaScript, like the protocol's clients. An absent
// value is false.
func truthy(value api.JSON) bool {
	switch document.Kind(value) {
	case 't', '{', '[':
		return true
	case '"':
		return len(value) > len(`""`)
	case '0':
		number, err := strconv.ParseFloat(string(value), 64)
		return err == nil && number != 0
	default:
		return false
	}
}
