package document

import (
	"sync/atomic"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/holdpoint/holdpoint/api"
)

// CountCompilations counts the schemas that are compiled until the test ends, with an empty cache. The test must
// not be parallel.
func CountCompilations(tb testing.TB) *atomic.Int64 {
	tb.Helper()
	var count atomic.Int64
	before := schemas
	schemas = newSchemaCache()
	compile := schemas.compile
	schemas.compile = func(text api.JSON, budget *schemaBudget) (*jsonschema.Schema, error) {
		count.Add(1)
		return compile(text, budget)
	}
	tb.Cleanup(func() { schemas = before })
	return &count
}
