package httpapi

import (
	"net/http"
	"strconv"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// decode reads a body that must be there.
func (s *Server) decode(w http.ResponseWriter, r *http.Request, into any) error {
	return wire.Decode(w, r, s.limits.MaxBodyBytes, into)
}

// decodeOptional reads a body that may be absent.
func (s *Server) decodeOptional(w http.ResponseWriter, r *http.Request, into any) error {
	return wire.DecodeOptional(w, r, s.limits.MaxBodyBytes, into)
}

// keyed is the member that every body with an idempotency key has.
type keyed struct {
	IdempotencyKey *string `json:"idempotency_key"`
}

// credentials reads who is asking and under which key. A bad key is reported after
// whatever is wrong with the body (decisions.md 30), so the command, without its
// key, is checked first.
func credentials(r *http.Request, inBody *string, command runs.Command) (string, runs.Actor, error) {
	key, err := wire.IdempotencyKey(r.Header, inBody)
	if err != nil {
		if schemaErr := runs.Prepare(command, runs.NewID); refusal.CodeOf(schemaErr) == api.CodeInvalidRequest {
			err = schemaErr
		}
		return "", runs.Actor{}, err
	}
	actor, err := wire.Actor(r.Header)
	return key, actor, err
}

// faults gathers what is wrong with members that only the wire knows.
type faults []api.Fault

func (f *faults) add(pointer, detail string) {
	*f = append(*f, api.Fault{Pointer: pointer, Detail: detail})
}

// err returns an invalid_request, or nil when nothing is wrong.
func (f faults) err() error {
	if len(f) == 0 {
		return nil
	}
	return refusal.Invalid(f...)
}

// id returns an optional id, "" when it is absent. One that is there must not be
// empty, because for the domain an empty id means that the service makes one.
func (f *faults) id(pointer string, given *string) string {
	if given == nil {
		return ""
	}
	if *given == "" {
		f.add(pointer, "must not be empty")
	}
	return *given
}

// fence reads the decimal text of a fence, which is required.
func (f *faults) fence(given *string) int64 {
	if given == nil {
		f.add("/fence", "is required")
		return 0
	}
	fence, ok := parseDecimal(*given)
	if !ok {
		f.add("/fence", "must be the fence of a claim, as it was given")
	}
	return fence
}

// parseDecimal reads a number that the service writes as decimal text. It accepts
// that form only: no sign, no space, no leading zero.
func parseDecimal(text string) (int64, bool) {
	if text == "" || len(text) > 1 && text[0] == '0' || text[0] == '+' || text[0] == '-' {
		return 0, false
	}
	number, err := strconv.ParseInt(text, 10, 64)
	return number, err == nil
}

// badQuery is the error of a query parameter that cannot be read.
func badQuery(name, expected string) error {
	return refusal.New(api.CodeBadRequest, "the query parameter %s must be %s", name, expected)
}

// queryFlag reads a query parameter that is true, false or absent.
func queryFlag(name, value string) (bool, error) {
	switch value {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	default:
		return false, badQuery(name, "true or false")
	}
}
