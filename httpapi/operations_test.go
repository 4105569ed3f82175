package httpapi_test

import (
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/httpapi/wire"
)

func testOperations(t *testing.T, a *rig) {
	parallel(t, "probes, version, description", func(t *testing.T) {
		require.Equal(t, `{"status":"live"}`, a.get(t, "/livez").want(http.StatusOK).text)
		require.Equal(t, `{"status":"ready"}`, a.get(t, "/readyz").want(http.StatusOK).text)
		require.Equal(t, `{"name":"holdpoint","version":"v0-test"}`, a.get(t, "/version").want(http.StatusOK).text)
		require.Equal(t, strings.TrimSuffix(string(holdpoint.OpenAPIYAML()), "\n"), a.get(t, "/openapi.yaml").want(http.StatusOK).text)
		require.Equal(t, strings.TrimSuffix(string(holdpoint.OpenAPIJSON()), "\n"), a.get(t, "/openapi.json").want(http.StatusOK).text)
	})
	parallel(t, "every reply has its id and is not stored or sniffed", func(t *testing.T) {
		for _, path := range []string{"/livez", "/v1/runs", "/nowhere"} {
			got := a.get(t, path)
			require.NotEmpty(t, got.header.Get("X-Request-Id"))
			require.Equal(t, "nosniff", got.header.Get("X-Content-Type-Options"))
			require.Equal(t, "no-store", got.header.Get("Cache-Control"))
		}
		require.Equal(t, "mine", a.get(t, "/livez", header("X-Request-Id", "mine")).header.Get("X-Request-Id"))
		require.NotEqual(t, "a b", a.get(t, "/livez", header("X-Request-Id", "a b")).header.Get("X-Request-Id"))
	})
}

// TestRoutesAreTheDocumentsPaths holds the router and openapi.yaml together from
// both sides.
func TestRoutesAreTheDocumentsPaths(t *testing.T) {
	t.Parallel()
	var routes, documented []string
	public := map[string]bool{}
	for _, route := range httpapi.New(httpapi.Options{}).Faces()[0].Routes {
		routes = append(routes, route.Methods[0]+" "+route.Path)
		public[route.Methods[0]+" "+route.Path] = route.Action == auth.Public
	}
	names := map[string]bool{}
	for path, item := range loadDocument(t).Paths.Map() {
		for method, operation := range item.Operations() {
			documented = append(documented, method+" "+path)
			require.Equal(t, public[method+" "+path], operation.Extensions["x-roles"] == nil, "%s %s has x-roles unless it is public", method, path)
			require.NotEmpty(t, operation.OperationID)
			require.False(t, names[operation.OperationID], "operationId %s is used twice", operation.OperationID)
			names[operation.OperationID] = true
			require.NotEmpty(t, operation.Summary, path)
			require.NotEmpty(t, operation.Tags, path)
			if body := operation.RequestBody; body != nil {
				require.NotEmpty(t, body.Value.Content["application/json"].Examples, "%s %s has no example", method, path)
			}
		}
	}
	require.ElementsMatch(t, documented, routes)
}

// TestProblemCodesAreTheDocuments holds the table of codes and openapi.yaml
// together, down to an example of each.
func TestProblemCodesAreTheDocuments(t *testing.T) {
	t.Parallel()
	document := loadDocument(t)
	var table, domains []any
	for _, info := range wire.Codes() {
		table = append(table, string(info.Code))
		if !slices.Contains(domains, any(info.Domain)) {
			domains = append(domains, info.Domain)
		}
		example := document.Components.Examples["problem_"+string(info.Code)]
		require.NotNil(t, example, "%s has no example", info.Code)
		problem, _ := example.Value.Value.(map[string]any)
		require.Equal(t, string(info.Code), problem["code"])
		require.Equal(t, wire.ProblemType+string(info.Code), problem["type"])
		require.EqualValues(t, info.Status, problem["status"])
		require.Equal(t, info.Domain, problem["domain"])
		require.NotEmpty(t, problem["title"])
	}
	properties := document.Components.Schemas["Problem"].Value.Properties
	require.Equal(t, table, properties["code"].Value.Enum)
	require.Equal(t, domains, properties["domain"].Value.Enum)
	require.Len(t, document.Components.Examples, len(table))
}

// TestProblemResponsesUseTheirStatus checks that every example of a problem is documented under the
// status of its code.
func TestProblemResponsesUseTheirStatus(t *testing.T) {
	t.Parallel()
	status := map[string]int{}
	for _, info := range wire.Codes() {
		status[string(info.Code)] = info.Status
	}
	digits := regexp.MustCompile(`^[0-9]{3}$`)
	for path, item := range loadDocument(t).Paths.Map() {
		for method, operation := range item.Operations() {
			for name, response := range operation.Responses.Map() {
				require.Regexp(t, digits, name)
				media := response.Value.Content["application/problem+json"]
				if media == nil {
					continue
				}
				for code := range media.Examples {
					require.Equal(t, name, strconv.Itoa(status[code]), "%s %s %s", method, path, code)
				}
			}
		}
	}
}
