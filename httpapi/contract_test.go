package httpapi_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/wire"
)

// contract is openapi.yaml as checked by the tests, with the parts that they have covered.
type contract struct {
	*judges

	mu       sync.Mutex
	statuses map[string]bool // "operationId status"
	problems map[string]bool // "operationId code"
	codes    map[api.Code]bool
}

// judges validate requests and replies. All contracts share them.
type judges struct {
	document *openapi3.T
	requests routers.Router
	// replies validates replies. It rejects undocumented members, so that a new member must be
	// documented.
	replies                    routers.Router
	requestBodies, replyBodies *schemas
}

func newContract(tb testing.TB) *contract {
	tb.Helper()
	shared, err := sharedJudges()
	require.NoError(tb, err)
	return &contract{judges: shared, statuses: map[string]bool{}, problems: map[string]bool{}, codes: map[api.Code]bool{}}
}

var sharedJudges = sync.OnceValues(func() (*judges, error) {
	j := &judges{}
	var err error
	if j.document, err = readDocument(); err != nil {
		return nil, err
	}
	if j.requests, j.requestBodies, err = judge(j.document); err != nil {
		return nil, err
	}
	strict, err := readDocument()
	if err != nil {
		return nil, err
	}
	for name, schema := range strict.Components.Schemas {
		if name != "Problem" {
			closeObjects(schema, map[*openapi3.Schema]bool{})
		}
	}
	j.replies, j.replyBodies, err = judge(strict)
	return j, err
})

func judge(document *openapi3.T) (routers.Router, *schemas, error) {
	bodies, err := newSchemas(document)
	if err != nil {
		return nil, nil, err
	}
	// Null matches a schema without a type, but the validator of non-JSON bodies tries to read it.
	document.Components.Schemas["Any"].Value.Type = &openapi3.Types{"object", "array", "string", "number", "boolean", "null"}
	document.Servers = nil
	router, err := gorillamux.NewRouter(document)
	return router, bodies, err
}

// closeObjects forbids members that are not named. Objects that name none are
// open: they are the caller's.
func closeObjects(ref *openapi3.SchemaRef, seen map[*openapi3.Schema]bool) {
	if ref == nil || ref.Value == nil || seen[ref.Value] {
		return
	}
	schema := ref.Value
	seen[schema] = true
	named := slices.Collect(maps.Keys(schema.Properties))
	if len(named) > 0 && !slices.Equal(named, []string{"type"}) {
		no := false
		schema.AdditionalProperties = openapi3.AdditionalProperties{Has: &no}
	}
	for _, property := range schema.Properties {
		closeObjects(property, seen)
	}
	closeObjects(schema.Items, seen)
	for _, list := range []openapi3.SchemaRefs{schema.OneOf, schema.AnyOf, schema.AllOf} {
		for _, one := range list {
			closeObjects(one, seen)
		}
	}
}

// requireCovered checks that every status of every operation and every problem
// code was answered at least once.
func (c *contract) requireCovered(t *testing.T) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	var missing []string
	for _, path := range c.document.Paths.Map() {
		for _, operation := range path.Operations() {
			if operation.OperationID == "openCalls" {
				continue // a WebSocket does not pass through this client: TestCallsOverOneConnection opens it, and is refused
			}
			for status := range operation.Responses.Map() {
				if operation.OperationID == "verifyAddress" && status == "409" {
					continue // it takes two people: package notify, TestASlackUserIsOnePerson
				}
				if status == "400" && (operation.OperationID == "listWorkers" || operation.OperationID == "listWebhooks") {
					continue // only a filter that is not in the document is refused: TestAnEmptyFilterIsRefused
				}
				if key := operation.OperationID + " " + status; !c.statuses[key] {
					missing = append(missing, key)
				}
			}
		}
	}
	for _, info := range wire.Codes() {
		switch info.Code {
		case api.CodeLinkNotFound, api.CodeLinkCodeWrong:
			continue // the page of a link answers them, which no operation has: package notify, TestGuessesOfCodes
		case api.CodeAddressTaken:
			continue // as above
		}
		if !c.codes[info.Code] {
			missing = append(missing, "code "+string(info.Code))
		}
	}
	slices.Sort(missing)
	require.Empty(t, missing, "no test has the service answer these")
}

// expectation says how a request stands to the schema; the zero value means that
// schema and service must agree.
type expectation int

const (
	_ expectation = iota
	// semantic: the service refuses something that a schema cannot express.
	semantic
	// lenient: the service accepts something that the schema does not promise.
	lenient
	// noOpinion: JSON libraries disagree about the body, so the schema library's result is ignored.
	noOpinion
)

type expectationKey struct{}

func withExpectation(ctx context.Context, e expectation) context.Context {
	return context.WithValue(ctx, expectationKey{}, e)
}

// schemaCodes are the refusals that a schema could have foreseen.
var schemaCodes = map[api.Code]bool{
	api.CodeBadRequest: true, api.CodeInvalidRequest: true, wire.CodeUnsupportedMediaType: true,
	wire.CodePayloadTooLarge: true, api.CodeAppendTooLarge: true, api.CodeInvalidLimit: true, api.CodeInvalidCursor: true,
	api.CodeInvalidEventCursor: true, api.CodeInvalidIdempotencyKey: true,
}

// checkedTransport validates every request and reply against the contract.
type checkedTransport struct {
	next     http.RoundTripper
	contract *contract
	tb       testing.TB
}

func (t *checkedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		_ = r.Body.Close()
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	reply, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(reply.Body)
	_ = reply.Body.Close()
	if err != nil {
		return nil, err
	}
	reply.Body = io.NopCloser(bytes.NewReader(text))
	if r.Method != http.MethodHead {
		if err := t.contract.check(r, body, reply, text); err != nil {
			return nil, fmt.Errorf("%s %s: %w\nrequest: %.2000s\nreply %d: %.4000s", r.Method, r.URL, err, body, reply.StatusCode, text)
		}
	}
	return reply, nil
}

func (c *contract) check(r *http.Request, body []byte, reply *http.Response, text []byte) error {
	code, err := c.checkProblem(reply, text)
	if err != nil {
		return err
	}
	if code == wire.CodeRouteNotFound || code == wire.CodeMethodNotAllowed {
		return nil
	}
	expected, _ := r.Context().Value(expectationKey{}).(expectation)
	request := r.Clone(context.Background())
	request.Body = io.NopCloser(bytes.NewReader(body))
	request.ContentLength = int64(len(body))
	route, parameters, err := c.requests.FindRoute(request)
	if err != nil && expected == noOpinion {
		return nil
	}
	if err != nil {
		return fmt.Errorf("the document has no such route: %w", err)
	}
	input := &openapi3filter.RequestValidationInput{
		Request: request, PathParams: parameters, Route: route,
		Options: &openapi3filter.Options{IncludeResponseStatus: true, SkipSettingDefaults: true, AuthenticationFunc: openapi3filter.NoopAuthenticationFunc},
	}
	if err := c.checkRequest(input, body, reply.StatusCode, code, expected); err != nil {
		return err
	}
	if c.seen(route.Operation.OperationID, reply.StatusCode, code) {
		return nil
	}
	strict, _, err := c.replies.FindRoute(request)
	if err != nil {
		return fmt.Errorf("the document has no such route: %w", err)
	}
	input.Route = strict
	if err := c.validateReply(input, reply, text); err != nil {
		return fmt.Errorf("the reply does not fit the document: %w", err)
	}
	return nil
}

// seen records an operation's reply and reports whether the operation already gave this problem.
// checkProblem checks whatever can differ between two problems with one code, so the schema is
// checked only once.
func (c *contract) seen(operation string, status int, code api.Code) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.statuses[fmt.Sprintf("%s %d", operation, status)] = true
	problem := operation + " " + string(code)
	before := code != "" && c.problems[problem]
	c.problems[problem] = true
	return before
}

// checkRequest checks that the service accepts and refuses the same requests as the schema.
func (c *contract) checkRequest(input *openapi3filter.RequestValidationInput, body []byte, status int, code api.Code, expected expectation) error {
	if status == http.StatusForbidden || status >= 500 || expected == noOpinion {
		return nil
	}
	schemaErr := c.validateRequest(input, body)
	refused := status >= 400
	switch {
	case schemaErr != nil && !refused && expected != lenient:
		return fmt.Errorf("the service took what the schema refuses: %w", schemaErr)
	case schemaErr == nil && schemaCodes[code] && expected != semantic:
		return fmt.Errorf("the service refused what the schema takes: %s", code)
	case schemaErr != nil && expected == semantic:
		return fmt.Errorf("marked semantic, but the schema refuses it too: %w", schemaErr)
	case expected == lenient && (schemaErr == nil || refused):
		return fmt.Errorf("marked lenient, but the schema refused it (%t) or the service answered %d", schemaErr != nil, status)
	}
	return nil
}

// checkProblem checks that every error is a problem document that fits the table
// of codes, and returns its code.
func (c *contract) checkProblem(reply *http.Response, text []byte) (api.Code, error) {
	if reply.StatusCode < 400 {
		if kind := reply.Header.Get("Content-Type"); strings.Contains(kind, "problem") {
			return "", fmt.Errorf("a success with Content-Type %s", kind)
		}
		return "", nil
	}
	var problem struct {
		api.Problem
		Error *string `json:"error"`
	}
	if err := json.Unmarshal(text, &problem, json.RejectUnknownMembers(true)); err != nil {
		return "", fmt.Errorf("no problem document: %w", err)
	}
	// Only a path that the document does not know has the text for foreign clients.
	if problem.Error != nil && (problem.Code != wire.CodeRouteNotFound && problem.Code != wire.CodeOriginNotAllowed || *problem.Error != problem.Detail) {
		return "", errors.New("a problem of /v1 with an error member")
	}
	if kind := reply.Header.Get("Content-Type"); kind != "application/problem+json" {
		return "", fmt.Errorf("a problem with Content-Type %s", kind)
	}
	for _, info := range wire.Codes() {
		if info.Code != problem.Code {
			continue
		}
		if info.Status != reply.StatusCode || problem.Status != info.Status || problem.Domain != info.Domain ||
			problem.Type != wire.ProblemType+string(info.Code) || problem.Title == "" || problem.Detail == "" {
			return "", errors.New("the problem does not fit its code")
		}
		c.mu.Lock()
		c.codes[problem.Code] = true
		c.mu.Unlock()
		return problem.Code, nil
	}
	return "", fmt.Errorf("unknown code %s", problem.Code)
}

func runFlag() string {
	if run := flag.Lookup("test.run"); run != nil {
		return run.Value.String()
	}
	return ""
}
