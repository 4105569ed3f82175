package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/internal/multiplex"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// MaxConnections is the maximum number of connections for calls in one process,
// MaxConnectionsOfPrincipal the maximum for one principal.
const (
	MaxConnections            = 1000
	MaxConnectionsOfPrincipal = 250
)

// connections tracks the connections for calls.
type connections struct {
	// ended waits for all connections.
	ended sync.WaitGroup

	mu    sync.Mutex
	count int
	of    map[string]int // by principal
}

// enter counts a principal's connection, unless there are too many.
func (c *connections) enter(principal string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.count >= MaxConnections {
		return refusal.New(wire.CodeTooManyCalls, "this replica has %d connections for calls, the maximum: send each call as a request", c.count)
	}
	if own := c.of[principal]; own >= mostOf(principal) {
		return refusal.New(wire.CodeTooManyCalls, "%s has %d connections for calls at this replica, the maximum: send each call as a request", principal, own)
	}
	if c.of == nil {
		c.of = map[string]int{}
	}
	c.count++
	c.of[principal]++
	c.ended.Add(1)
	return nil
}

func (c *connections) leave(principal string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count--
	if c.of[principal]--; c.of[principal] == 0 {
		delete(c.of, principal)
	}
	c.ended.Done()
}

// mostOf returns the maximum number of connections of a principal. Without credentials all callers are one principal.
func mostOf(principal string) int {
	if principal == auth.LocalPrincipal {
		return MaxConnections
	}
	return MaxConnectionsOfPrincipal
}

// use returns how much of its maximum the busiest principal has.
func (c *connections) use() (share float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for principal, own := range c.of {
		share = max(share, float64(own)/float64(mostOf(principal)))
	}
	return share
}

func (c *connections) number() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count
}

// openCalls answers calls over one WebSocket, each like a separate request
// (docs/spec/v1.md#many-calls-over-one-connection).
func (s *Server) openCalls(w http.ResponseWriter, r *http.Request) error {
	principal := auth.From(r.Context()).Principal
	if err := s.connections.enter(principal); err != nil {
		return err
	}
	defer s.connections.leave(principal)
	if err := wire.Hold(r.Context()); err != nil {
		return err
	}
	err := multiplex.Serve(w, r, multiplex.Options{
		Handler: s.noStreams(s.handler), Draining: s.draining, Refuse: refuseCall,
		Panicked: func(cause any, stack []byte) {
			s.logger.ErrorContext(r.Context(), "a call over a connection panicked", slog.Any("cause", cause), slog.String("stack", string(stack)))
		},
	})
	if err != nil {
		return refusal.New(api.CodeBadRequest, "%s", err)
	}
	return nil
}

// refuseCall answers a call that is not allowed over a connection.
func refuseCall(w http.ResponseWriter, r *http.Request, tooMany bool, message string) {
	if tooMany {
		wire.WriteProblem(w, r, refusal.New(wire.CodeTooManyCalls, "the connection has %d calls in progress, the maximum", multiplex.MaxCalls))
		return
	}
	wire.WriteProblem(w, r, refusal.New(api.CodeBadRequest, "%s", message))
}

// noStreams refuses calls with an endless reply.
func (s *Server) noStreams(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/stream") && s.isStream(r.URL.Path) {
			refuseCall(w, r, false, "a stream is opened by a request of its own")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// advertise tells clients that the service accepts many calls over one connection.
func advertise(next http.Handler) http.Handler {
	value := []string{multiplex.Path}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/v1/") {
			w.Header()[multiplex.Advert] = value
		}
		next.ServeHTTP(w, r)
	})
}

// WaitConnections waits until every connection for calls has ended, which happens soon after
// [Server.Drain]. It returns the error of ctx when that ends first.
func (s *Server) WaitConnections(ctx context.Context) error {
	ended := make(chan struct{})
	go func() {
		s.connections.ended.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
