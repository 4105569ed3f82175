package document

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
)

func TestOneSchemaIsCompiledAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cache := newSchemaCache()
		var running, most, all atomic.Int64
		cache.compile = func(api.JSON, *schemaBudget) (*jsonschema.Schema, error) {
			all.Add(1)
			most.Store(max(most.Load(), running.Add(1)))
			time.Sleep(time.Second)
			running.Add(-1)
			return nil, nil
		}
		const schemas = 8
		var group sync.WaitGroup
		for n := range schemas {
			group.Go(func() { _ = cache.of(api.JSON(fmt.Sprintf(`{"title":"%d"}`, n))).failure() })
		}
		synctest.Wait()
		require.EqualValues(t, 1, all.Load(), "the others wait")
		group.Wait()
		require.EqualValues(t, schemas, all.Load())
		require.EqualValues(t, 1, most.Load())
	})
}
