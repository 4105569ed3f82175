package httpapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint"
)

// example is a value that the document shows, and where its schema is in it.
type example struct {
	schema string // a JSON pointer
	value  any
}

// examplesOf returns the examples of a document by their JSON pointers. The library that reads the document checks
// them, too, but compiles the schema for each, which takes longer than all other tests of the document.
func examplesOf(t *testing.T, document *openapi3.T) map[string]example {
	t.Helper()
	text, err := json.Marshal(document)
	require.NoError(t, err)
	root, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	shared := root.(map[string]any)["components"].(map[string]any)["examples"].(map[string]any)
	found := map[string]example{}
	var walk func(pointer string, at any)
	walk = func(pointer string, at any) {
		switch at := at.(type) {
		case []any:
			for i, item := range at {
				walk(fmt.Sprintf("%s/%d", pointer, i), item)
			}
		case map[string]any:
			schema := pointer // a schema's own example
			if at["schema"] != nil {
				schema += "/schema"
			}
			for name, child := range at {
				below := pointer + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
				switch {
				case strings.HasSuffix(pointer, "/properties") || name != "example" && name != "examples":
					walk(below, child)
				case name == "example":
					found[below] = example{schema: schema, value: child}
				case pointer != "/components": // which has those that are used elsewhere
					for key, one := range child.(map[string]any) {
						found[below+"/"+key] = example{schema: schema, value: valueOf(t, one, shared)}
					}
				}
			}
		}
	}
	walk("", root)
	return found
}

// valueOf returns the value of an example, or of the shared one that it refers to.
func valueOf(t *testing.T, one any, shared map[string]any) any {
	t.Helper()
	held := one.(map[string]any)
	if reference, elsewhere := held["$ref"].(string); elsewhere {
		held = shared[strings.TrimPrefix(reference, "#/components/examples/")].(map[string]any)
	}
	require.Contains(t, held, "value")
	return held["value"]
}

// checkExample compares an example with its schema, which is compiled once.
func (s *schemas) checkExample(one example) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	compiled, err := s.compiler.Compile(documentURL + "#" + (&url.URL{Path: one.schema}).EscapedPath())
	if err != nil {
		return err
	}
	return compiled.Validate(one.value)
}

func TestTheExamplesFitTheDocument(t *testing.T) {
	t.Parallel()
	document := loadDocument(t)
	compiled, err := newSchemas(document)
	require.NoError(t, err)
	examples := examplesOf(t, document)
	require.Greater(t, len(examples), 200)
	for pointer, one := range examples {
		require.NoError(t, compiled.checkExample(one), pointer)
	}
}

// TestABrokenExampleIsFound shows that the test above does look at the examples of
// requests, replies and problems.
func TestABrokenExampleIsFound(t *testing.T) {
	t.Parallel()
	whole := examplesOf(t, loadDocument(t))
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
		compiled, err := newSchemas(document)
		require.NoError(t, err)
		broken := 0
		for pointer, one := range examplesOf(t, document) {
			if reflect.DeepEqual(one, whole[pointer]) {
				continue
			}
			require.Error(t, compiled.checkExample(one), "%s: %s", change.to, pointer)
			broken++
		}
		require.Positive(t, broken, change.to)
	}
}
