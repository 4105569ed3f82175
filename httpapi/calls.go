package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/internal/multiplex"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// MaxConnections bounds the connections of one process that carry calls.
const MaxConnections = 1000

// openCalls answers calls that come over one WebSocket, each as if it were a request by itself
// (docs/spec/v1.md#many-calls-over-one-connection).
func (s *Server) openCalls(w http.ResponseWriter, r *http.Request) error {
	defer s.opened.Add(-1)
	if s.opened.Add(1) > MaxConnections {
		return refusal.New(wire.CodeTooManyCalls, "%d connections carry calls at this replica, as many as there may be: make each call by a request", MaxConnections)
	}
	s.connections.Add(1)
	defer s.connections.Done()
	err := multiplex.Serve(w, r, multiplex.Options{
		Handler: noStreams(s.handler), Draining: s.draining, Refuse: refuseCall,
		Panicked: func(cause any, stack []byte) {
			s.logger.ErrorContext(r.Context(), "a call over a connection panicked", slog.Any("cause", cause), slog.String("stack", string(stack)))
		},
	})
	if err != nil {
		return refusal.New(api.CodeBadRequest, "%s", err)
	}
	return nil
}

// refuseCall answers a call that may not be made over a connection.
func refuseCall(w http.ResponseWriter, r *http.Request, tooMany bool, message string) {
	if tooMany {
		wire.WriteProblem(w, r, refusal.New(wire.CodeTooManyCalls, "the connection has %d calls under way, as many as it may", multiplex.MaxCalls))
		return
	}
	wire.WriteProblem(w, r, refusal.New(api.CodeBadRequest, "%s", message))
}

// noStreams refuses calls whose reply has no end.
func noStreams(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/stream") && wire.IsStream(r.URL.Path) {
			refuseCall(w, r, false, "a stream is opened by a request of its own")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// advertise tells clients that the service takes many calls over one connection.
func advertise(next http.Handler) http.Handler {
	value := []string{multiplex.Path}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/v1/") {
			w.Header()[multiplex.Advert] = value
		}
		next.ServeHTTP(w, r)
	})
}

// WaitConnections waits until every connection that carries calls has ended, which they do soon after
// [Server.Drain]. It returns the error of ctx when that ends before.
func (s *Server) WaitConnections(ctx context.Context) error {
	ended := make(chan struct{})
	go func() {
		s.connections.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
