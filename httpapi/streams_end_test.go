package httpapi_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/httpapi/wire"
)

func TestAStreamIsKeptAlive(t *testing.T) {
	t.Parallel()
	a := serve(t, openSQLite(t), newContract(t), func(o *httpapi.Options) { o.KeepAlive = 40 * time.Millisecond })
	run := a.waiting(t, `"approvals":[`+approval("a1")+`]`)
	stream := a.follow(t, "/v1/sessions/"+run.session+"/stream")
	stream.snapshot()
	for range 3 {
		begin := time.Now()
		require.Equal(t, frame{comment: "keepalive"}, stream.next())
		require.Less(t, time.Since(begin), 10*time.Second)
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
	}, 20*time.Second, 5*time.Millisecond, "who leaves makes room, and who is refused takes none")
}

// One reader takes nothing. The others see every event at once, and it is cut off.
func TestASlowReaderCostsItselfItsConnection(t *testing.T) {
	t.Parallel()
	a := serve(t, openSQLite(t), newContract(t), func(o *httpapi.Options) { o.StreamWriteTimeout = 300 * time.Millisecond })
	run := a.claimed(t)
	path := "/v1/sessions/" + run.session + "/stream"
	fast := []*reader{a.follow(t, path), a.follow(t, path)}
	for _, reader := range fast {
		reader.snapshot()
	}
	slow, err := net.Dial("tcp", a.server.Listener.Addr().String())
	require.NoError(t, err)
	defer slow.Close()
	_, err = fmt.Fprintf(slow, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path)
	require.NoError(t, err)
	opening := make([]byte, 1)
	_, err = io.ReadFull(slow, opening)
	require.NoError(t, err)

	// More than the buffers of both kernels take.
	const events, size = 300, 50_000
	text := strings.Repeat("x", size)
	for i := range events {
		a.post(t, "/v1/runs/"+run.run+"/events", fmt.Sprintf(`{"fence":%q,"events":[{"type":"delta","text":%q}]}`, run.fence, text)).want(http.StatusAccepted)
		for _, reader := range fast {
			require.Equal(t, 3+i, number(t, reader.event().id))
		}
	}
	require.NoError(t, slow.SetReadDeadline(time.Now().Add(30*time.Second)))
	got, err := io.Copy(io.Discard, slow)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "it was never cut off")
	require.Less(t, got, int64(events*size), "it was cut off before the end")
}
