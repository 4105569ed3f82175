package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
)

// schemas compiles each schema of a JSON body once. openapi3filter would compile it for every body,
// which takes longer than the rest of a test.
type schemas struct {
	mu       sync.Mutex
	compiler *jsonschema.Compiler
	compiled map[*openapi3.Schema]*jsonschema.Schema
}

// documentURL is how the schemas of bodies refer to the document.
const documentURL = "https://holdpoint.test/openapi.json"

func newSchemas(document *openapi3.T) (*schemas, error) {
	s := &schemas{compiler: jsonschema.NewCompiler(), compiled: map[*openapi3.Schema]*jsonschema.Schema{}}
	s.compiler.DefaultDraft(jsonschema.Draft2020)
	s.compiler.RegisterFormat(&jsonschema.Format{Name: "int64", Validate: checkInt64})
	s.compiler.AssertFormat()
	return s, s.add(documentURL, document)
}

// add gives a value to the compiler as JSON.
func (s *schemas) add(url string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	text = bytes.ReplaceAll(text, []byte(`"$ref":"#/`), []byte(`"$ref":"`+documentURL+`#/`))
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return s.compiler.AddResource(url, parsed)
}

// check reads a body as JSON and checks it.
func (s *schemas) check(schema *openapi3.Schema, body []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return err
	}
	compiled, err := s.get(schema)
	if err != nil {
		return err
	}
	return compiled.Validate(value)
}

func (s *schemas) get(schema *openapi3.Schema) (*jsonschema.Schema, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if compiled := s.compiled[schema]; compiled != nil {
		return compiled, nil
	}
	url := fmt.Sprintf("https://holdpoint.test/bodies/%d", len(s.compiled))
	if err := s.add(url, schema); err != nil {
		return nil, err
	}
	compiled, err := s.compiler.Compile(url)
	if err == nil {
		s.compiled[schema] = compiled
	}
	return compiled, err
}

// checkInt64 is the format int64.
func checkInt64(value any) error {
	number, isNumber := value.(json.Number)
	if !isNumber {
		return nil
	}
	if _, err := number.Int64(); err == nil {
		return nil
	}
	// 1e3 is an integer, too.
	if float, err := number.Float64(); err != nil || float != math.Trunc(float) || math.Abs(float) >= 1<<63 {
		return fmt.Errorf("%s is not an int64", number)
	}
	return nil
}

// validateRequest checks a request against the document.
func (j *judges) validateRequest(input *openapi3filter.RequestValidationInput, body []byte) error {
	declared := input.Route.Operation.RequestBody
	if declared == nil || len(body) == 0 {
		return openapi3filter.ValidateRequest(context.Background(), input)
	}
	schema := jsonSchema(declared.Value.Content, input.Request.Header)
	if schema == nil {
		return openapi3filter.ValidateRequest(context.Background(), input)
	}
	options := *input.Options
	options.ExcludeRequestBody = true
	others := *input
	others.Options = &options
	if err := openapi3filter.ValidateRequest(context.Background(), &others); err != nil {
		return err
	}
	return j.requestBodies.check(schema, body)
}

// validateReply checks a reply against the document.
func (j *judges) validateReply(input *openapi3filter.RequestValidationInput, reply *http.Response, body []byte) error {
	options := *input.Options
	var schema *openapi3.Schema
	if declared := input.Route.Operation.Responses.Status(reply.StatusCode); declared != nil {
		schema = jsonSchema(declared.Value.Content, reply.Header)
	}
	options.ExcludeResponseBody = schema != nil
	err := openapi3filter.ValidateResponse(context.Background(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input, Status: reply.StatusCode, Header: reply.Header,
		Body: io.NopCloser(bytes.NewReader(body)), Options: &options,
	})
	if err != nil || schema == nil {
		return err
	}
	return j.replyBodies.check(schema, body)
}

// jsonSchema returns the schema of a body that is JSON, nil for any other.
func jsonSchema(content openapi3.Content, header http.Header) *openapi3.Schema {
	kind, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil || kind != "application/json" && !strings.HasSuffix(kind, "+json") {
		return nil
	}
	declared := content.Get(header.Get("Content-Type"))
	if declared == nil || declared.Schema == nil {
		return nil
	}
	return declared.Schema.Value
}

// TestTheDocumentIsHeldTo shows that the check does look at bodies, of requests and replies.
func TestTheDocumentIsHeldTo(t *testing.T) {
	t.Parallel()
	send := func(body string, status int, reply string) error {
		request := httptest.NewRequest(http.MethodPost, "/v1/runs/r/heartbeat", strings.NewReader(body))
		request.Header.Set("Content-Type", "application/json")
		answer := &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}, "X-Request-Id": {"request"}}}
		return newContract(t).check(request, []byte(body), answer, []byte(reply))
	}
	const fits = `{"expires_at_ms":1,"cancel_requested":false}`
	require.NoError(t, send(`{"fence":"1"}`, 200, fits))
	for _, wrong := range []struct{ body, reply, says string }{
		{`{"fence":"1"}`, `{"expires_at_ms":1,"cancel_requested":false,"more":1}`, "more"},
		{`{"fence":"1"}`, `{"expires_at_ms":"1","cancel_requested":false}`, "got string, want integer"},
		{`{"fence":"1"}`, `{"expires_at_ms":1e300,"cancel_requested":false}`, "int64"},
		{`{"fence":"1"}`, `{"cancel_requested":false}`, "missing property"},
		{`{"fence":"1"}`, `{`, "EOF"},
		{`{"fence":true}`, fits, "got boolean"},
		{`{}`, fits, "missing property"},
		{``, fits, "value is required"},
	} {
		require.ErrorContains(t, send(wrong.body, 200, wrong.reply), wrong.says, "%s %s", wrong.body, wrong.reply)
	}
	require.ErrorContains(t, send(`{"fence":"1"}`, 201, fits), "status is not supported")
}
