package faces

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
	"github.com/holdpoint/holdpoint/test/inprocess"
	"github.com/holdpoint/holdpoint/test/rig"
)

// pause is the interval for polling states that no stream reports.
const pause = time.Millisecond

// inProcess is a service in this process, so its clock and rows can be read.
type inProcess struct {
	*Service
	engine string
	store  runs.Store
}

// start starts a service with all faces. Deadlines are only swept when a test does it.
func start(t *testing.T, engine string) *inProcess {
	t.Helper()
	database := inprocess.Memory
	if engine == "postgres" {
		database = postgrestest.URL(t)
	}
	service := inprocess.Start(t, database, inprocess.Options{WithoutExpiry: true})
	transport := &http.Transport{MaxIdleConnsPerHost: 128}
	t.Cleanup(transport.CloseIdleConnections)
	return &inProcess{
		Service: &Service{URL: service.URL, HTTP: &http.Client{Transport: transport}}, engine: engine, store: service.Store,
	}
}

// TestFaces runs every case against one service for each engine.
func TestFaces(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s := start(t, engine)
			t.Run("cases", func(t *testing.T) {
				for _, one := range []struct {
					name string
					run  func(*testing.T, *inProcess)
				}{
					{"race table", testRaceTable},
					{"at once", testAtOnce},
					{"a crowd at once", testCrowd},
					{"vocabulary", testVocabulary},
					{"payloads", testPayloads},
					{"shown", testShown},
					{"redacted", testRedacted},
				} {
					t.Run(one.name, func(t *testing.T) {
						t.Parallel()
						one.run(t, s)
					})
				}
			})
		})
	}
}

// begin starts a scene for the duration of the test.
func (s *inProcess) begin(t *testing.T) *Scene {
	t.Helper()
	scene, err := s.Begin(rig.Soon(t))
	require.NoError(t, err)
	t.Cleanup(scene.Chat.Close)
	return scene
}

// passed waits until the deciding clock has passed a time.
func (s *inProcess) passed(t *testing.T, momentMs int64) {
	t.Helper()
	rig.Await(t, func() bool {
		nowMs, err := s.store.NowMs(t.Context())
		return err == nil && nowMs >= momentMs
	})
}
