package httpapi

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/internal/cpulimit"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// decodeNothing reads a body that may be absent and has no members.
func (s *Server) decodeNothing(w http.ResponseWriter, r *http.Request) error {
	var faults refusal.Faults
	if err := s.bodies.DecodeOptional(w, r, &struct{}{}, &faults); err != nil {
		return err
	}
	return faults.Err()
}

// reason reads an optional api.ReasonBody and who gives the command that is made of it.
func (s *Server) reason(w http.ResponseWriter, r *http.Request, command func(reason string, actor runs.Actor) runs.Command) (runs.Command, error) {
	var body api.ReasonBody
	var faults refusal.Faults
	if err := s.bodies.DecodeOptional(w, r, &body, &faults); err != nil {
		return nil, err
	}
	if err := allFaults(r.Context(), &faults, command(body.Reason, runs.Actor{})); err != nil {
		return nil, err
	}
	actor, err := wire.Actor(r)
	return command(body.Reason, actor), err
}

// allFaults returns invalid_request with the faults that were found in a body and those that the
// command made of it is by itself, or nil when none were found. The command is prepared only to
// be refused.
func allFaults(ctx context.Context, faults *refusal.Faults, command runs.Command) error {
	if len(faults.List) == 0 {
		return nil
	}
	var refused *refusal.Error
	if errors.As(bodyFaults(ctx, command), &refused) {
		faults.AddBeside(refused.Faults...)
	}
	return faults.Err()
}

// credentials reads who is asking and under which key. A bad key is reported after
// whatever is wrong with the body (docs/spec/v1.md#order-of-checks), so the command,
// without its key, is checked first.
func credentials(r *http.Request, inBody *string, command runs.Command) (string, runs.Actor, error) {
	key, err := wire.IdempotencyKey(r.Header, inBody)
	if err != nil {
		return "", runs.Actor{}, cmp.Or(bodyFaults(r.Context(), command), err)
	}
	actor, err := wire.Actor(r)
	return key, actor, err
}

// doInSession gives a command about an existing session to the store. An id that no
// session can have is refused here, after the faults of the body.
func (s *Server) doInSession(r *http.Request, sessionID string, command runs.Command) (runs.Reply, error) {
	if !refusal.ValidID(sessionID) {
		return runs.Reply{}, cmp.Or[error](bodyFaults(r.Context(), command), refusal.UnknownSession(wire.Shown(sessionID)))
	}
	return s.store.Do(r.Context(), command)
}

// doOnRun gives a command about an existing run to the store, as doInSession does.
func (s *Server) doOnRun(r *http.Request, runID string, command runs.Command) (runs.Reply, error) {
	if err := checkRunID(r.Context(), runID, command); err != nil {
		return runs.Reply{}, err
	}
	return s.store.Do(r.Context(), command)
}

// checkRunID refuses an id that no run can have, after the faults of the body.
func checkRunID(ctx context.Context, runID string, command runs.Command) error {
	if refusal.ValidID(runID) {
		return nil
	}
	return cmp.Or[error](bodyFaults(ctx, command), refusal.UnknownRun(wire.Shown(runID)))
}

// bodyFaults returns the invalid_request that a command is by itself, or nil. A command
// is prepared once, so it must not be given to the store afterwards.
func bodyFaults(ctx context.Context, command runs.Command) error {
	// A body may take long, and schemas longer.
	err := cpulimit.Do(ctx, cpulimit.Bytes, func() error { return runs.Prepare(command, runs.NewID) })
	if code := refusal.CodeOf(err); code == "" || code == api.CodeInvalidRequest {
		return err
	}
	return nil
}

// optionalID returns an optional id of a body, "" when it is absent. It adds a fault for
// one that is given and empty, because for the domain an empty id means that the service
// makes one.
func optionalID(faults *refusal.Faults, pointer string, given *string) string {
	if given == nil {
		return ""
	}
	if *given == "" {
		faults.Add(pointer, "must not be empty")
	}
	return *given
}

// requiredFence returns the fence of a body, which is decimal text, 0 when there is none.
func requiredFence(faults *refusal.Faults, given *string) int64 {
	if given == nil {
		return 0 // a fault of the body already
	}
	fence, ok := parseDecimal(*given)
	if !ok {
		faults.Add("/fence", "must be the fence of a claim, as it was given")
	}
	return fence
}

// optionalNumber returns what a command takes for an optional number of a body. The 0 of
// a command stands for the default; an explicit 0 is out of range, and becomes -1, which
// the domain refuses together with its limits.
func optionalNumber(given *int64) int64 {
	switch {
	case given == nil:
		return 0
	case *given == 0:
		return -1
	}
	return *given
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

// queryOf returns the parameters of the request line, without those that cannot be
// read.
func queryOf(r *http.Request) url.Values {
	if r.URL.RawQuery == "" {
		return nil
	}
	return r.URL.Query()
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
