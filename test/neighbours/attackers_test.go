//go:build unix && faults

package neighbours

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// attacker is one caller that does what costs the most.
type attacker struct {
	name string
	role api.Role
	// answer is the status of a call that does the work. Calls beyond a limit have another one.
	answer int
	// call returns the next call; n counts the calls. Nil for sockets.
	call func(n int64) call
	// sockets sends over eight connections of GET /v1/calls instead.
	sockets bool
}

type call struct {
	path, body string
}

// connections is how many calls an attacker has in flight.
const connections = 16

// pattern is small, and large once it is compiled; references have it compiled again for each.
var (
	pattern    = strings.Repeat(".{0,1000}", 23)
	references = strings.TrimSuffix(strings.Repeat(`{"$ref":"#/$defs/p"},`, 1500), ",")
	// globs are the rules that an explanation reads, 200 of them.
	globs = func() (bodies []string) {
		for i := range 200 {
			bodies = append(bodies, fmt.Sprintf(`{"effect":"ask","tool_name":"bash","match":{"params":{"command":"*x*y%d*z*"}}}`, i))
		}
		return bodies
	}()
	large = `"` + strings.Repeat("x", 900_000) + `"`
)

var attackers = []attacker{
	{name: "schemas", role: api.RoleAgent, answer: http.StatusAccepted, call: func(n int64) call {
		var properties []string
		for i := range 100 {
			properties = append(properties, fmt.Sprintf(`"p%d-%d":{"type":"string","pattern":"^[a-z]{1,%d}$"}`, n, i, 10+i%20))
		}
		return raise("schemas", n, `"approvals":[`+approval("a", `,"input_schema":{"type":"object","properties":{`+strings.Join(properties, ",")+`}}`)+`]`)
	}},
	{name: "references", role: api.RoleAgent, answer: http.StatusUnprocessableEntity, call: func(n int64) call {
		schema := fmt.Sprintf(`{"title":"%d","$defs":{"p":{"pattern":%q}},"allOf":[%s]}`, n, pattern, references)
		return raise("references", n, `"questions":[{"id":"q","tool_call_id":"q","response_schema":`+schema+`}]`)
	}},
	{name: "explain", role: api.RoleObserver, answer: http.StatusOK, call: func(n int64) call {
		return call{"/v1/rules/explain", fmt.Sprintf(`{"tool_name":"bash","input":{"n":%d,"command":%s}}`, n, large)}
	}},
	{name: "sockets", role: api.RoleAgent, answer: http.StatusOK, sockets: true},
	{name: "checkpoints", role: api.RoleAgent, answer: http.StatusOK, call: func(n int64) call {
		return call{"/v1/runs/attacked/heartbeat", fmt.Sprintf(`{"fence":"1","checkpoint":{"n":%d,"text":%s}}`, n, large)}
	}},
	{name: "hundreds", role: api.RoleAgent, answer: http.StatusAccepted, call: func(n int64) call {
		many := make([]string, 100)
		for i := range many {
			many[i] = approval(fmt.Sprint("a", i), "")
		}
		return raise("hundreds", n, `"approvals":[`+strings.Join(many, ",")+`]`)
	}},
}

func raise(name string, n int64, suspend string) call {
	return call{"/v1/runs", fmt.Sprintf(`{"session_id":"%s-%d","input":1,"suspend":{%s}}`, name, n, suspend)}
}

func approval(id, more string) string {
	return fmt.Sprintf(`{"id":%q,"tool_call_id":%q,"tool_name":"bash","input":{"command":"ls"}%s}`, id, id, more)
}

// tally counts answered calls by status.
type tally struct {
	mu       sync.Mutex
	statuses map[int]int64
	// first is closed after the first answer.
	first chan struct{}
}

func (t *tally) add(status int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.statuses) == 0 {
		close(t.first)
	}
	t.statuses[status]++
}

// run calls until the context ends, and counts how its calls were answered.
func (a *attacker) run(ctx context.Context, url, secret string, answered *tally) error {
	if a.sockets {
		return overSockets(ctx, url, secret, answered)
	}
	var (
		callers sync.WaitGroup
		next    atomic.Int64
	)
	transport := &http.Transport{MaxConnsPerHost: connections, MaxIdleConnsPerHost: connections}
	defer transport.CloseIdleConnections()
	one := &http.Client{Transport: transport}
	for range connections {
		callers.Go(func() {
			for ctx.Err() == nil {
				made := a.call(next.Add(1))
				status, err := post(ctx, one, url+made.path, secret, made.body)
				if err != nil {
					continue // the end, or a connection that the service has closed
				}
				answered.add(status)
			}
		})
	}
	callers.Wait()
	return nil
}

func post(ctx context.Context, one *http.Client, url, secret, body string) (status int, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader([]byte(body)))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Authorization", "Bearer "+secret)
	request.Header.Set("Content-Type", "application/json")
	reply, err := one.Do(request)
	if err != nil {
		return 0, err
	}
	defer reply.Body.Close()
	_, err = io.Copy(io.Discard, reply.Body)
	return reply.StatusCode, err
}

// overSockets keeps 128 calls in flight on each of eight connections of GET /v1/calls.
func overSockets(ctx context.Context, url, secret string, answered *tally) error {
	var callers sync.WaitGroup
	for range 8 {
		c, err := client.New(url, client.WithToken(secret), client.WithRetry(client.RetryPolicy{MaxAttempts: 1}))
		if err != nil {
			return err
		}
		defer c.Close()
		for range 128 {
			callers.Go(func() {
				for ctx.Err() == nil {
					_, err := c.Me(ctx)
					if refused, is := errors.AsType[*client.Error](err); is {
						answered.add(refused.Status)
					} else if err == nil {
						answered.add(http.StatusOK)
					}
				}
			})
		}
	}
	callers.Wait()
	return nil
}
