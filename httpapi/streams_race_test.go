package httpapi_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/store/postgres"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
)

// pairs are where a stream is read and where the session is written: in one process,
// in two that share a Postgres, and in two of which the reader hears of nothing.
var pairs = map[string]func(*testing.T) (reads, writes *rig){
	"SQLite": func(t *testing.T) (reads, writes *rig) {
		a := serve(t, openSQLite(t), newContract(t))
		return a, a
	},
	"two replicas": func(t *testing.T) (reads, writes *rig) {
		database, contract := postgrestest.URL(t), newContract(t)
		return replicaOf(t, database, contract, postgres.Options{}), replicaOf(t, database, contract, postgres.Options{})
	},
	"two replicas without hints": func(t *testing.T) (reads, writes *rig) {
		database, contract := postgrestest.URL(t), newContract(t)
		deaf := postgres.Options{NoListen: true}
		often := func(o *httpapi.Options) { o.PollInterval = 20 * time.Millisecond }
		return replicaOf(t, database, contract, deaf, often), replicaOf(t, database, contract, deaf)
	},
}

func replicaOf(t *testing.T, database string, contract *contract, options postgres.Options, change ...func(*httpapi.Options)) *rig {
	t.Helper()
	store, err := postgres.Open(t.Context(), database, options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return serve(t, store, contract, change...)
}

// TestStreamsMissNothing repeatedly subscribes while a worker writes, with and without a cursor,
// and reads to the end. Every event after the first id arrives exactly once, regardless of the
// order of subscription, snapshot and commit.
func TestStreamsMissNothing(t *testing.T) {
	t.Parallel()
	const rounds = 20
	for name, pair := range pairs {
		parallel(t, name, func(t *testing.T) {
			reads, writes := pair(t)
			for range rounds {
				run := writes.claimed(t)
				written := make(chan struct{})
				go func() {
					defer close(written)
					writeEvents(t, writes, run)
				}()
				session, ofRun := "/v1/sessions/"+run.session, "/v1/runs/"+run.run
				second := reads.position(t, run.session, "2")
				streams := []struct {
					path string
					*reader
				}{
					{session, reads.follow(t, session+"/stream")},
					{ofRun, reads.follow(t, ofRun+"/stream")},
					{session, reads.follow(t, session+"/stream?cursor=0")},
					{ofRun, reads.follow(t, ofRun+"/stream", header("Last-Event-ID", second))},
				}
				for i, stream := range streams {
					after := []string{"", "", "0", "2"}[i]
					if after == "" {
						after, _ = stream.snapshot()
					}
					var seen []frame
					for {
						one, err := stream.read()
						if err != nil {
							break
						}
						if one.comment == "" {
							seen = append(seen, one)
						}
					}
					reads.requireLog(t, stream.path, after, seen)
				}
				<-written
			}
		})
	}
}

// writeEvents writes events as a worker does, and ends the session.
func writeEvents(t *testing.T, a *rig, run wantedRun) {
	call := func(path, body string) {
		if _, err := a.try(t, http.MethodPost, path, body); err != nil {
			t.Error(err)
		}
	}
	for i := range 8 {
		call("/v1/runs/"+run.run+"/events", fmt.Sprintf(`{"fence":%q,"events":[{"type":"delta","n":%d},{"type":"delta"}]}`, run.fence, i))
		if i%4 == 0 {
			call("/v1/sessions/"+run.session+"/runs", `{"input":1}`)
		}
	}
	call("/v1/runs/"+run.run+"/complete", fmt.Sprintf(`{"fence":%q}`, run.fence))
	call("/v1/sessions/"+run.session+"/end", "")
}

// Many readers read a log that is longer than a feed's window from its beginning, while it grows.
func TestStreamsOfALongLog(t *testing.T) {
	t.Parallel()
	a := serve(t, openSQLite(t), newContract(t))
	run := a.claimed(t)
	path := "/v1/runs/" + run.run
	add := func() {
		events := `{"type":"delta"}`
		for range 99 {
			events += `,{"type":"delta"}`
		}
		a.post(t, path+"/events", fmt.Sprintf(`{"fence":%q,"events":[%s]}`, run.fence, events)).want(http.StatusAccepted)
	}
	for range 4 {
		add()
	}
	first := a.follow(t, path+"/stream?cursor=0")
	for want := 1; want <= 100; want++ {
		require.Equal(t, want, number(t, first.event().id))
	}
	for range 6 {
		add()
	}
	second := a.follow(t, "/v1/sessions/"+run.session+"/stream", header("Last-Event-ID", a.position(t, run.session, "150")))
	for want := 101; want <= 1000; want++ {
		require.Equal(t, want, number(t, first.event().id))
	}
	for want := 151; want <= 1000; want++ {
		require.Equal(t, want, number(t, second.event().id))
	}
	require.NotEqual(t, string(api.EventCompleted), first.event().name)
}

// Clients that reconnect at once, as after a restart, share the read of one snapshot.
func TestStreamsThatOpenTogetherShareASnapshot(t *testing.T) {
	t.Parallel()
	const readers = 50
	store := &slowSessions{Store: openSQLite(t), gate: make(chan struct{})}
	a := serve(t, store, newContract(t))
	run := a.waiting(t, `"approvals":[`+approval("a1")+`]`)
	snapshots := make(chan string, readers)
	for range readers {
		go func() { snapshots <- a.opened(t, "/v1/sessions/"+run.session+"/stream").data }()
	}
	require.Eventually(t, func() bool { return store.waiting.Load() > 0 }, time.Minute, time.Millisecond)
	close(store.gate)
	first := <-snapshots
	require.Contains(t, first, `"pending_count":1`)
	for range readers - 1 {
		require.Equal(t, first, <-snapshots)
	}
	require.Less(t, store.waiting.Load(), int64(readers))
}

// Readers of runs that reconnect at once wait for nothing that one of them holds.
func TestRunStreamsThatReopenTogetherAllOpen(t *testing.T) {
	t.Parallel()
	const readers = 32 // as many as may read for streams at a time
	store := &meetingHeads{Store: openSQLite(t), met: make(chan struct{})}
	a := serve(t, store, newContract(t))
	run := a.claimed(t)
	path := "/v1/runs/" + run.run
	a.post(t, path+"/events", fmt.Sprintf(`{"fence":%q,"events":[{"type":"delta"}]}`, run.fence)).want(http.StatusAccepted)
	first := a.position(t, run.session, "1")
	store.awaited.Store(readers)
	opened := make(chan frame, readers)
	for range readers {
		go func() { opened <- a.opened(t, path+"/stream?cursor="+first) }()
	}
	for range readers {
		select {
		case one := <-opened:
			require.Equal(t, a.position(t, run.session, "2"), one.id, one.data)
		case <-time.After(time.Minute):
			t.Fatal("a stream does not open")
		}
	}
}

// opened returns the first named frame of a stream, or its error as data. Goroutines may call it.
func (a *rig) opened(t *testing.T, path string) frame {
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.server.URL+path, http.NoBody)
	if err != nil {
		return frame{data: err.Error()}
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return frame{data: err.Error()}
	}
	defer response.Body.Close()
	stream := &reader{t: t, lines: bufio.NewReader(response.Body)}
	one, err := stream.read()
	for err == nil && one.name == "" {
		one, err = stream.read()
	}
	return one
}

// meetingHeads answers for heads of sessions once as many reads as are awaited are under way.
type meetingHeads struct {
	runs.Store
	awaited atomic.Int64
	met     chan struct{}
}

func (s *meetingHeads) Within(reads.Scope) reads.Reader { return s }

func (s *meetingHeads) SessionHead(ctx context.Context, sessionID string) (*model.Session, error) {
	switch left := s.awaited.Add(-1); {
	case left == 0:
		close(s.met)
	case left > 0:
		<-s.met
	}
	return s.Store.SessionHead(ctx, sessionID)
}

// slowSessions answers for sessions once the gate is open, and counts the calls.
type slowSessions struct {
	runs.Store
	gate    chan struct{}
	waiting atomic.Int64
}

func (s *slowSessions) Within(reads.Scope) reads.Reader { return s }

func (s *slowSessions) Session(ctx context.Context, sessionID string) (*model.SessionRecord, error) {
	s.waiting.Add(1)
	<-s.gate
	return s.Store.Session(ctx, sessionID)
}
