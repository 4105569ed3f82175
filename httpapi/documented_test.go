package httpapi_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
)

// operation is a call of an operation of openapi.yaml, with the least that it needs.
type operation struct {
	method, path, body string
	// optional: the body may be absent.
	optional bool
	// unknown is the code for an unknown name in the path, "" when that is not an error.
	unknown api.Code
	// roles may make the call. x-roles has them from the purpose of each role, independently of the routes' actions.
	roles []string
}

// operations returns the operations of /v1 that are about rows and answer at once.
func operations(tb testing.TB) []operation {
	tb.Helper()
	return slices.DeleteFunc(documented(tb), func(o operation) bool {
		return !strings.HasPrefix(o.path, "/v1/") || slices.Contains([]string{"/v1/calls", "/v1/logout", "/v1/me", "/v1/stream"}, o.path)
	})
}

// documented returns the operations that have x-roles. In their paths, "nobody" stands where an unknown name is refused.
func documented(tb testing.TB) []operation {
	tb.Helper()
	all, err := readOperations()
	require.NoError(tb, err)
	return slices.Clone(all)
}

var readOperations = sync.OnceValues(func() ([]operation, error) {
	document, err := readDocument()
	if err != nil {
		return nil, err
	}
	var all, last []operation
	for _, path := range slices.Sorted(maps.Keys(document.Paths.Map())) {
		calls := document.Paths.Value(path).Operations()
		for _, method := range slices.Sorted(maps.Keys(calls)) {
			if calls[method].Extensions["x-roles"] == nil {
				continue
			}
			o, err := operationOf(method, path, calls[method])
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w", method, path, err)
			}
			if makesSession(calls[method]) {
				last = append(last, o) // "nobody" stays unknown to the others
				continue
			}
			all = append(all, o)
		}
	}
	return append(all, last...), nil
})

// makesSession reports whether the call makes the session in its path.
func makesSession(call *openapi3.Operation) bool {
	return call.OperationID == "createSessionRun" || call.OperationID == "inputSession"
}

var nameInPath = regexp.MustCompile(`\{(\w+)\}`)

func operationOf(method, path string, call *openapi3.Operation) (operation, error) {
	o := operation{method: method}
	roles, list := call.Extensions["x-roles"].([]any)
	if !list {
		return o, errors.New("x-roles is not a list")
	}
	for _, role := range roles {
		o.roles = append(o.roles, fmt.Sprint(role))
	}
	if name := nameInPath.FindStringSubmatch(path); name != nil && call.Responses.Value("404") != nil && !makesSession(call) {
		kind := strings.NewReplacer("_id", "", "handle", "request", "name", "channel").Replace(name[1])
		o.unknown = api.Code(kind + "_not_found")
	}
	// The runs of testScopes have an approval "a" and a question "q".
	o.path = strings.Replace(path, "questions/{request_id}", "questions/q", 1)
	if name := nameInPath.FindString(o.path); name != "" {
		o.path = nameInPath.ReplaceAllString(strings.Replace(o.path, name, "nobody", 1), "a")
	}
	for _, parameter := range call.Parameters {
		if value := parameter.Value; value.Required && value.In == openapi3.ParameterInQuery {
			o.path += "?" + value.Name + "=" + fmt.Sprint(value.Example)
		}
	}
	if call.RequestBody == nil {
		return o, nil
	}
	o.optional = !call.RequestBody.Value.Required
	for _, example := range call.RequestBody.Value.Content["application/json"].Examples {
		text, err := json.Marshal(example.Value.Value)
		if err != nil {
			return o, err
		}
		if o.body == "" || len(text) < len(o.body) || len(text) == len(o.body) && string(text) < o.body {
			o.body = string(text)
		}
	}
	return o, nil
}
