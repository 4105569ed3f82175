package wire

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Query returns the readable parameters of the request line.
func Query(r *http.Request) url.Values {
	if r.URL.RawQuery == "" {
		return nil
	}
	return r.URL.Query()
}

// BadQuery is the error of an unreadable query parameter.
func BadQuery(name, expected string) error {
	return refusal.New(api.CodeBadRequest, "the query parameter %s must be %s", name, expected)
}

// QueryFlag reads a query parameter that is true, false or absent.
func QueryFlag(query url.Values, name string) (bool, error) {
	switch value := query.Get(name); {
	case value == "false" || !query.Has(name):
		return false, nil
	case value == "true":
		return true, nil
	default:
		return false, BadQuery(name, "true or false")
	}
}

// QueryLimit reads ?limit=, which may be absent. Errors: invalid_limit.
func QueryLimit(query url.Values, absent, most int) (int, error) {
	if !query.Has("limit") {
		return absent, nil
	}
	limit, err := strconv.Atoi(query.Get("limit"))
	if err != nil || limit < 1 || limit > most {
		return 0, refusal.New(api.CodeInvalidLimit, "limit must be between 1 and %d", most)
	}
	return limit, nil
}

// Decimal parses a number in the service's own decimal form: no sign, space or leading zero.
func Decimal(text string) (int64, bool) {
	if text == "" || len(text) > 1 && text[0] == '0' || text[0] == '+' || text[0] == '-' {
		return 0, false
	}
	number, err := strconv.ParseInt(text, 10, 64)
	return number, err == nil
}

type callsAsInputs struct{}

// WithCallsAsInputs returns the context of a call whose face shows runs of kind call as inputs.
func WithCallsAsInputs(ctx context.Context) context.Context {
	return context.WithValue(ctx, callsAsInputs{}, true)
}

// CallsAreInputs reports whether a list of inputs has the runs of kind call too.
func CallsAreInputs(ctx context.Context) bool { return ctx.Value(callsAsInputs{}) != nil }
