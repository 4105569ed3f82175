package codex_test

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/httpapi/dialects/dialecttest"
)

// raw opens a socket without a client library, so that only the service is measured.
func (s *replica) raw(tb testing.TB, query string) (net.Conn, *bufio.Reader) {
	tb.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.Server.URL, "http://"))
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = conn.Close() })
	_, err = fmt.Fprintf(conn, "GET /api/stream%s HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", query)
	require.NoError(tb, err)
	reader := bufio.NewReaderSize(conn, 16)
	for line := "-"; line != "\r\n"; {
		line, err = reader.ReadString('\n')
		require.NoError(tb, err)
	}
	header := make([]byte, 2)
	_, err = reader.Read(header[:1])
	require.NoError(tb, err)
	_, err = reader.Read(header[1:])
	require.NoError(tb, err)
	for left := int(header[1]); left > 0; left-- {
		_, err = reader.ReadByte()
		require.NoError(tb, err)
	}
	return conn, reader
}

// TestIdleSocketsAreSmall measures the memory of an idle socket, including the client's side.
func TestIdleSocketsAreSmall(t *testing.T) {
	service := serve(t, dialecttest.SQLite(t))
	service.raw(t, "")
	const sockets = 1_000
	used := func() (heap, stack uint64) {
		runtime.GC()
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return stats.HeapInuse, stats.StackInuse
	}
	heapBefore, stackBefore := used()
	for range sockets {
		service.raw(t, "?threadId=t")
	}
	heap, stack := used()
	heap, stack = (heap-heapBefore)/sockets, (stack-stackBefore)/sockets
	t.Logf("an idle socket has %d bytes of heap and %d of stacks", heap, stack)
	require.Less(t, heap+stack, uint64(64<<10))
}

// bulky is a request of which twenty are more than the buffers of both kernels take.
func bulky() string {
	return approvals(approval("a1", fmt.Sprintf(`"input":{"command":%q}`, strings.Repeat("x", 900<<10))))
}

// TestSlowReaderHoldsUpNobody checks that other readers get everything while the service waits for
// a reader that reads nothing.
func TestSlowReaderHoldsUpNobody(t *testing.T) {
	t.Parallel()
	service := serve(t, dialecttest.SQLite(t), func(o *httpapi.Options) { o.StreamWriteTimeout = time.Hour })
	slow, _ := service.raw(t, "")
	fast := service.connect(t, "")
	for range 20 {
		session := name()
		service.waitingIn(t, session, bulky())
		fast.event(typeApproval, session)
	}
	require.Equal(t, 2, service.API.Streams())
	require.NoError(t, slow.Close())
}

// TestSlowReaderLosesItsSocket checks that a reader that reads nothing is disconnected after a
// while.
func TestSlowReaderLosesItsSocket(t *testing.T) {
	t.Parallel()
	service := serve(t, dialecttest.SQLite(t), func(o *httpapi.Options) { o.StreamWriteTimeout = 100 * time.Millisecond })
	slow, _ := service.raw(t, "")
	for range 20 {
		service.waitingIn(t, name(), bulky())
	}
	require.Eventually(t, func() bool { return service.API.Streams() == 0 }, time.Minute, time.Millisecond, "it is never let go")
	// The data in the kernel's buffer can still be read, and then the connection is closed.
	require.NoError(t, slow.SetReadDeadline(time.Now().Add(time.Minute)))
	buffer, last := make([]byte, 1<<20), ""
	var err error
	for err == nil {
		var n int
		n, err = slow.Read(buffer)
		last = string(buffer[max(0, n-200):n])
	}
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
	// Nothing could be said to it any more: that is how the deadline differs from a gap.
	require.NotContains(t, last, "reconnect")
}
