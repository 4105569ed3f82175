package httpapi_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkStreams measures the cost of followers. "bytes/stream" is the memory of 1,000 idle ones
// with both ends of their connections, and ns/op is the time until one event has reached all of
// them. "bare" is the minimum with net/http: a handler that receives from a channel and writes.
func BenchmarkStreams(b *testing.B) {
	b.Run("session", func(b *testing.B) {
		a := serve(b, openSQLite(b), newContract(b))
		made, err := http.Post(a.server.URL+"/v1/runs", "application/json", strings.NewReader(
			`{"session_id":"s","run_id":"r","input":1,"claim":{"worker_id":"w","lease_ms":3600000}}`))
		require.NoError(b, err)
		require.NoError(b, made.Body.Close())
		measureStreams(b, a.server.Listener.Addr().String(), "/v1/sessions/s/stream", func() {
			reply, err := a.server.Client().Post(a.server.URL+"/v1/runs/r/events", "application/json",
				strings.NewReader(`{"fence":"1","events":[{"type":"delta"}]}`))
			require.NoError(b, err)
			require.NoError(b, reply.Body.Close())
			require.Equal(b, http.StatusAccepted, reply.StatusCode)
		})
	})
	b.Run("bare", func(b *testing.B) {
		bare := &bareStreams{changed: make(chan chan struct{}, 1)}
		bare.changed <- make(chan struct{})
		server := httptest.NewServer(bare)
		defer server.Close()
		defer server.CloseClientConnections()
		measureStreams(b, server.Listener.Addr().String(), "/", bare.send)
	})
}

type bareStreams struct{ changed chan chan struct{} }

func (s *bareStreams) send() {
	before := <-s.changed
	s.changed <- make(chan struct{})
	close(before)
}

func (s *bareStreams) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	for {
		changed := <-s.changed
		s.changed <- changed
		fmt.Fprint(w, "id: 1\nevent: delta\ndata: {}\n\n")
		w.(http.Flusher).Flush()
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}

// measureStreams opens streams by hand, so that the reader's end is small and the
// same in both.
func measureStreams(b *testing.B, address, path string, send func()) {
	const streams = 1000
	before := inUse()
	arrived := make(chan struct{}, streams)
	for range streams {
		connection, err := net.Dial("tcp", address)
		require.NoError(b, err)
		b.Cleanup(func() { _ = connection.Close() })
		_, err = fmt.Fprintf(connection, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path)
		require.NoError(b, err)
		go func() {
			lines := bufio.NewReaderSize(connection, 16)
			for {
				line, more, err := lines.ReadLine()
				if err != nil {
					return
				}
				if strings.HasPrefix(string(line), "id: ") {
					arrived <- struct{}{}
				}
				for more && err == nil {
					_, more, err = lines.ReadLine()
				}
			}
		}()
	}
	await := func() {
		for range streams {
			select {
			case <-arrived:
			case <-time.After(time.Minute):
				b.Fatal("an event did not reach all")
			}
		}
	}
	await()
	idle := inUse() - before
	for b.Loop() {
		send()
		await()
	}
	b.ReportMetric(float64(idle)/streams, "bytes/stream")
}

func inUse() uint64 {
	// Each collection halves the stacks that reading a snapshot has grown, and the
	// second one empties the pools.
	for range 8 {
		runtime.GC()
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapInuse + stats.StackInuse
}
