package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint"
)

var update = flag.Bool("update", false, "write openapi.json anew from openapi.yaml")

// loadDocument reads openapi.yaml and checks it, all but its examples.
func loadDocument(t testing.TB) *openapi3.T {
	t.Helper()
	document, err := readDocument()
	require.NoError(t, err)
	return document
}

func readDocument() (*openapi3.T, error) {
	document, err := openapi3.NewLoader().LoadFromData(holdpoint.OpenAPIYAML())
	if err != nil {
		return nil, err
	}
	return document, document.Validate(context.Background(), openapi3.DisableExamplesValidation())
}

func TestTheExamplesFitTheDocument(t *testing.T) {
	t.Parallel()
	require.NoError(t, loadDocument(t).Validate(context.Background(), openapi3.EnableExamplesValidation()))
}

// TestOpenAPIJSON holds the two forms of the description together.
func TestOpenAPIJSON(t *testing.T) {
	t.Parallel()
	document := loadDocument(t)
	text, err := json.Marshal(document)
	require.NoError(t, err)
	var indented bytes.Buffer
	require.NoError(t, json.Indent(&indented, text, "", " "))
	indented.WriteByte('\n')
	if *update {
		require.NoError(t, os.WriteFile("../openapi.json", indented.Bytes(), 0o644))
		return
	}
	require.JSONEq(t, indented.String(), string(holdpoint.OpenAPIJSON()),
		"openapi.json is not openapi.yaml; run go test ./httpapi -run TestOpenAPIJSON -update")
}

// TestABrokenExampleIsFound shows that the test above does look at the examples of
// requests, replies and problems.
func TestABrokenExampleIsFound(t *testing.T) {
	t.Parallel()
	for _, change := range []struct{ from, to string }{
		{"status: idle, active_run: null", "status: asleep, active_run: null"},
		{"behavior: allow}]}", "behavior: maybe}]}"},
		{"        code: lease_lost\n", "        code: lease_found\n"},
		{"worker_id: worker-1, agent_ids: [coder]", "worker_id: 7, agent_ids: [coder]"},
	} {
		text := string(holdpoint.OpenAPIYAML())
		require.Contains(t, text, change.from)
		document, err := openapi3.NewLoader().LoadFromData([]byte(strings.Replace(text, change.from, change.to, 1)))
		require.NoError(t, err)
		require.Error(t, document.Validate(context.Background(), openapi3.EnableExamplesValidation()), change.to)
	}
}
