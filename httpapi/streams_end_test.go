package httpapi_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/httpapi/stream"
	"github.com/holdpoint/holdpoint/httpapi/wire"
)

func TestAStreamIsKeptAlive(t *testing.T) {
	t.Parallel()
	a := serve(t, openSQLite(t), newContract(t), func(o *httpapi.Options) { o.KeepAlive = 40 * time.Millisecond })
	run := a.waiting(t, `"approvals":[`+approval("a1")+`]`)
	stream := a.follow(t, "/v1/sessions/"+run.session+"/stream")
	stream.snapshot()
	for range 3 {
		require.Equal(t, frame{comment: "keepalive"}, stream.next())
	}
	a.post(t, "/v1/runs/"+run.run+"/approvals", allow("a1")).want(http.StatusAccepted)
	require.Equal(t, "approval_resolved", stream.event().name)
}

func TestDrainEndsStreams(t *testing.T) {
	t.Parallel()
	a := serve(t, openSQLite(t), newContract(t))
	run := a.waiting(t, `"approvals":[`+approval("a1")+`]`)
	stream := a.follow(t, "/v1/sessions/"+run.session+"/stream")
	stream.snapshot()
	a.handler.Drain()
	stream.ends()
	refused := a.get(t, "/v1/sessions/"+run.session+"/stream").refused(wire.CodeServiceUnavailable)
	require.NotEmpty(t, refused.header.Get("Retry-After"))
}

func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()
	a := serve(t, openSQLite(t), newContract(t), func(o *httpapi.Options) { o.Limits.MaxStreams = 2 })
	run := a.waiting(t, `"approvals":[`+approval("a1")+`]`)
	path := "/v1/sessions/" + run.session + "/stream"
	first := a.follow(t, path)
	a.follow(t, path)
	require.NotEmpty(t, a.get(t, path).refused(wire.CodeServiceUnavailable).header.Get("Retry-After"))
	a.get(t, "/v1/runs/"+run.run+"/stream").refused(wire.CodeServiceUnavailable)
	a.get(t, "/v1/sessions/nobody/stream").refused(wire.CodeServiceUnavailable)
	require.NoError(t, first.response.Body.Close())
	require.Eventually(t, func() bool {
		got, err := a.try(t, http.MethodGet, "/v1/sessions/nobody/stream", "")
		return err == nil && got.status == http.StatusNotFound
	}, time.Minute, 5*time.Millisecond, "who leaves makes room, and who is refused takes none")
}

// slow opens a stream whose reader reads only its first byte.
func (a *rig) slow(t *testing.T, path string) net.Conn {
	t.Helper()
	slow, err := net.Dial("tcp", a.server.Listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = slow.Close() })
	_, err = fmt.Fprintf(slow, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path)
	require.NoError(t, err)
	opening := make([]byte, 1)
	_, err = io.ReadFull(slow, opening)
	require.NoError(t, err)
	return slow
}

// Together they are more than the buffers of both kernels take.
const bulkyEvents, bulkyBytes = 300, 50_000

// bulky appends this many events to a run, and calls a function after each.
func (a *rig) bulky(t *testing.T, run wantedRun, after func(i int)) {
	t.Helper()
	text := strings.Repeat("x", bulkyBytes)
	for i := range bulkyEvents {
		a.post(t, "/v1/runs/"+run.run+"/events", fmt.Sprintf(`{"fence":%q,"events":[{"type":"delta","text":%q}]}`, run.fence, text)).want(http.StatusAccepted)
		after(i)
	}
}

// Other readers get every event while the service waits for a reader that reads nothing.
func TestASlowReaderHoldsUpNobody(t *testing.T) {
	t.Parallel()
	a := serve(t, openSQLite(t), newContract(t), func(o *httpapi.Options) { o.StreamWriteTimeout = time.Hour })
	run := a.claimed(t)
	path := "/v1/sessions/" + run.session + "/stream"
	fast := []*reader{a.follow(t, path), a.follow(t, path)}
	for _, reader := range fast {
		reader.snapshot()
	}
	a.slow(t, path)
	a.bulky(t, run, func(i int) {
		for _, reader := range fast {
			require.Equal(t, 3+i, number(t, reader.event().id))
		}
	})
	require.Equal(t, 3, a.handler.Streams())
}

// A reader that keeps taking gets time for each part, however large a frame is and however much comes at once.
func TestAReaderHasTimeForEachPartOfAStream(t *testing.T) {
	t.Parallel()
	taken := &timedWriter{ResponseRecorder: httptest.NewRecorder()}
	out := stream.Begin(taken, "text/event-stream", time.Minute)
	snapshot, small := []byte(strings.Repeat("x", 1<<20)), []byte(strings.Repeat("y", 1000))
	n, err := out.Write(snapshot)
	require.NoError(t, err)
	require.Equal(t, len(snapshot), n)
	for range 1000 {
		_, err := out.Write(small)
		require.NoError(t, err)
	}
	require.LessOrEqual(t, taken.most, 64<<10)
	require.Equal(t, string(snapshot)+strings.Repeat(string(small), 1000), taken.Body.String())

	require.NoError(t, out.Flush())
	set := taken.set
	for range 2 {
		_, err = out.Write(small)
		require.NoError(t, err)
	}
	require.Equal(t, set+1, taken.set, "a flush ends the time, and what comes together shares one")
}

// timedWriter counts deadlines, and knows the most that was written under one.
type timedWriter struct {
	*httptest.ResponseRecorder
	set, under, most int
}

func (w *timedWriter) SetWriteDeadline(time.Time) error {
	w.set, w.under = w.set+1, 0
	return nil
}

func (w *timedWriter) Write(text []byte) (int, error) {
	w.under += len(text)
	w.most = max(w.most, w.under)
	return w.ResponseRecorder.Write(text)
}

func TestASlowReaderCostsItselfItsConnection(t *testing.T) {
	t.Parallel()
	a := serve(t, openSQLite(t), newContract(t), func(o *httpapi.Options) { o.StreamWriteTimeout = 100 * time.Millisecond })
	run := a.claimed(t)
	slow := a.slow(t, "/v1/sessions/"+run.session+"/stream")
	a.bulky(t, run, func(int) {})
	require.Eventually(t, func() bool { return a.handler.Streams() == 0 }, time.Minute, time.Millisecond, "it is never cut off")
	require.NoError(t, slow.SetReadDeadline(time.Now().Add(time.Minute)))
	got, err := io.Copy(io.Discard, slow)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "it was never cut off")
	require.Less(t, got, int64(bulkyEvents*bulkyBytes), "it was cut off before the end")
}
