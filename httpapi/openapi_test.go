package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint"
	"github.com/holdpoint/holdpoint/api"
)

var update = flag.Bool("update", false, "rewrite openapi.json from openapi.yaml")

// loadDocument returns openapi.yaml, checked except for its examples. Tests share it and change nothing in it.
func loadDocument(t testing.TB) *openapi3.T {
	t.Helper()
	document, err := sharedDocument()
	require.NoError(t, err)
	return document
}

var sharedDocument = sync.OnceValues(readDocument)

func readDocument() (*openapi3.T, error) {
	document, err := openapi3.NewLoader().LoadFromData(holdpoint.OpenAPIYAML())
	if err != nil {
		return nil, err
	}
	return document, document.Validate(context.Background(), openapi3.DisableExamplesValidation())
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

// notFilters are the query parameters that narrow no list.
var notFilters = map[string]bool{
	"limit": true, "page": true, "cursor": true, "after": true, "fields": true, "priority_active": true, "until": true, "fence": true, "ticket": true, "context": true, "viewing": true,
}

// A script with an unset variable sends an empty filter. If it were ignored, the call would list
// and decide everything.
func TestAnEmptyFilterIsRefused(t *testing.T) {
	t.Parallel()
	a := serve(t, openSQLite(t), newContract(t))
	refused := 0
	for path, item := range loadDocument(t).Paths.Map() {
		if item.Get == nil || strings.HasPrefix(path, "/v1/oidc") {
			continue
		}
		parameters := append(append(openapi3.Parameters{}, item.Parameters...), item.Get.Parameters...)
		for _, parameter := range parameters {
			name := parameter.Value.Name
			if parameter.Value.In != "query" || notFilters[name] {
				continue
			}
			for _, prefix := range []string{"", "/kheish"} {
				for _, query := range []string{"?" + name, "?" + name + "=", "?page=true&" + name + "=&limit=1"} {
					reply := a.get(t, prefix+path+query, unchecked()).refused(api.CodeInvalidFilter)
					require.Contains(t, reply.at("detail"), "the filter "+name+" is empty")
					refused++
				}
			}
		}
	}
	require.Greater(t, refused, 100)
	// Neither is a filter that a list does not have, or that is misspelt: it is not ignored.
	for _, list := range []string{
		"/v1/approvals?run_id=r", "/v1/approvals?agent_id=a", "/v1/approvals?session=s", "/v1/approvals?sessionId=s", "/v1/approvals?SESSION_ID=s", "/v1/approvals?session_id[]=s",
		"/v1/questions?run_id=r", "/v1/questions?status=open", "/v1/rules?agent_id=a", "/v1/rules?tool_name=t", "/v1/runs?run_id=r", "/v1/runs?state=running", "/v1/sessions?session_id=s",
		"/v1/sessions?parent_session_id=s", "/v1/effects?run_id=r", "/v1/effects?status=pending", "/v1/decisions?run_id=r", "/v1/decisions?since=1", "/v1/sessions/s/approvals?session_id=t", "/v1/stream?session_id=s",
		"/v1/decisions?until_ms=1", "/v1/decisions?via=api", "/v1/tokens?status=revoked", "/v1/audit?session_id=s", "/v1/audit/export?sessionId=s", "/v1/webhooks?agent_id=a", "/v1/workers?agent_id=a",
		"/v1/sessions/s/events?run_id=r", "/v1/runs/r/events?type=output", "/v1/runs/r/outputs?since=1",
	} {
		for _, prefix := range []string{"", "/kheish"} {
			if native := regexp.MustCompile(`^/v1/(rules|effects|decisions|tokens|audit|webhooks|workers|sessions/s/events|runs/r/)`); prefix != "" && native.MatchString(list) {
				continue
			}
			a.get(t, prefix+list, unchecked()).refused(api.CodeInvalidFilter)
		}
	}
	for _, list := range []string{"/v1/sessions/s/approvals?session_id=s", "/v1/approvals?_=17&verbose=1"} {
		a.get(t, list, unchecked()).want(200)
	}
	a.get(t, "/v1/sessions/s/approvals?session_id=", unchecked()).refused(api.CodeInvalidFilter)
	a.get(t, "/v1/stream?session_id=", unchecked()).refused(api.CodeInvalidFilter)
}
