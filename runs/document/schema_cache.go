package document

import (
	"crypto/sha256"
	"fmt"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/holdpoint/holdpoint/api"
)

// Limits on cached compiled schemas. A compiled schema takes up to about a hundred times the
// memory of its text.
const (
	maxCachedSchemas     = 256
	maxCachedSchemaBytes = 256 << 10
)

// schemas caches compiled schemas by the digest of their text. Entries never change, so there is
// no invalidation.
var schemas = newSchemaCache()

// schemaCache compiles each distinct schema once, and evicts the least recently used.
type schemaCache struct {
	// compile is compileSchema; tests count its calls.
	compile func(text api.JSON, budget *schemaBudget) (*jsonschema.Schema, error)
	// compiling allows one compilation at a time. A schema can take milliseconds and megabytes, so
	// concurrent callers could use up all processors and memory.
	compiling chan struct{}

	mu    sync.Mutex
	byKey *simplelru.LRU[[sha256.Size]byte, *compiledSchema]
	bytes int
}

func newSchemaCache() *schemaCache {
	c := &schemaCache{compile: compileSchema, compiling: make(chan struct{}, 1)}
	// The only error is a size below 1.
	c.byKey, _ = simplelru.NewLRU(maxCachedSchemas, func(_ [sha256.Size]byte, evicted *compiledSchema) { c.bytes -= len(evicted.text) })
	return c
}

// of returns the entry of a text, which compiles on first use.
func (c *schemaCache) of(text api.JSON) *compiledSchema {
	if len(text) > api.MaxSchemaBytes {
		return &compiledSchema{cache: c, text: text}
	}
	key := sha256.Sum256(text)
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, found := c.byKey.Get(key); found {
		return known
	}
	added := &compiledSchema{cache: c, text: append(api.JSON(nil), text...)}
	c.byKey.Add(key, added)
	for c.bytes += len(text); c.bytes > maxCachedSchemaBytes && c.byKey.Len() > 1; {
		c.byKey.RemoveOldest()
	}
	return added
}

// compiledSchema compiles its schema once. It is safe for concurrent use.
type compiledSchema struct {
	cache *schemaCache
	text  api.JSON

	once   sync.Once
	schema *jsonschema.Schema
	err    error

	// mu allows one validation at a time, because the library charges budget.
	mu     sync.Mutex
	budget schemaBudget
}

// failure returns why the text is not a usable schema, nil if it is.
func (s *compiledSchema) failure() error {
	s.once.Do(func() {
		if len(s.text) > api.MaxSchemaBytes {
			s.err = fmt.Errorf("is larger than %d bytes", api.MaxSchemaBytes)
			return
		}
		s.cache.compiling <- struct{}{}
		defer func() { <-s.cache.compiling }()
		s.schema, s.err = s.cache.compile(s.text, &s.budget)
	})
	return s.err
}

// validate validates a value and returns the work spent. The error is errBudgetSpent or the
// library's result.
func (s *compiledSchema) validate(document any) (spent schemaBudget, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.budget.checks, s.budget.patternWork = 0, 0
	err = s.budget.validate(s.schema, document)
	return s.budget, err
}
