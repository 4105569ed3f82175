package hermes_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/httpapi/dialects/dialecttest"
	"github.com/holdpoint/holdpoint/httpapi/dialects/hermes"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(postgrestest.Wrap(m)) }

// service is a whole service with the dialect in it.
type service struct{ *dialecttest.Service }

func serve(tb testing.TB, store runs.Store, change ...func(*httpapi.Options)) *service {
	tb.Helper()
	change = append([]func(*httpapi.Options){func(o *httpapi.Options) { o.KeepAlive = 200 * time.Millisecond }}, change...)
	s := &service{dialecttest.Serve(tb, store, hermes.Mount, change...)}
	s.RunLoops(tb)
	return s
}

// parallel runs a case in parallel with the others.
func parallel(t *testing.T, name string, test func(*testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		test(t)
	})
}

// TestHermes runs every case on every engine.
func TestHermes(t *testing.T) {
	dialecttest.OnEngines(t, func(t *testing.T, database *dialecttest.Database) {
		s := serve(t, database.Open(t))
		t.Run("cases", func(t *testing.T) {
			for name, group := range map[string]func(*testing.T, *service){
				"snapshots":          testSnapshots,
				"bodies":             testBodies,
				"replies":            testReplies,
				"approvals":          testApprovals,
				"lost approvals":     testLostApprovals,
				"all at once":        testYolo,
				"a run":              testRunID,
				"before a route":     testRefusedBeforeARoute,
				"rules":              testRules,
				"children":           testChildren,
				"clarifications":     testClarifications,
				"typed questions":    testTypedQuestions,
				"same labels":        testSameLabels,
				"several":            testSeveralQuestions,
				"lost answers":       testLostAnswers,
				"streams":            testStreams,
				"streams that go on": testLongStreams,
			} {
				parallel(t, name, func(t *testing.T) {
					group(t, s)
				})
			}
		})
	})
}
