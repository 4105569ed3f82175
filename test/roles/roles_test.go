//go:build faults

package roles

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/test/inprocess"
)

const (
	// calls is how many calls the test makes unless HOLDPOINT_ROLE_CALLS says otherwise.
	calls = 20_000
	// callsOfPart is how many of them one service gets. Nothing deletes events and rules, and many calls read
	// all of them: more calls to one service would spend their time on reading rather than on new cases.
	callsOfPart   = 50_000
	callersAtOnce = 8
	// departs is how many calls there are for each one whose caller leaves.
	departs = 50
)

// mostMemory is how much memory this process may have: the service, and the test itself.
const mostMemory = 512 << 20

// TestNoCallDoesWhatItsRoleForbids calls with credentials of every role, with none and with a forged
// one, within limits. What each session's runs were given has a word of its own, so that a reply tells whose
// it shows. No reply is an error of the service, and its memory has a bound.
func TestNoCallDoesWhatItsRoleForbids(t *testing.T) {
	count := calls
	if text := os.Getenv("HOLDPOINT_ROLE_CALLS"); text != "" {
		var err error
		count, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	isDefault := os.Getenv("HOLDPOINT_ROLE_LIMITS") == "default"
	var seen tally
	for part := 0; part*callsOfPart < count; part++ {
		require.True(t, t.Run(strconv.Itoa(part), func(t *testing.T) {
			calls := min(callsOfPart, count-part*callsOfPart)
			quota := &wire.Quota{}
			if !isDefault {
				// The default limits, but for a rate at which a million calls take minutes, and for a budget of bytes that
				// some callers use up.
				quota = &wire.Quota{Rate: 1_000, Stored: int64(calls)}
			}
			seen.callOneService(t, calls, quota)
		}))
	}
	seen.report(t, count)
	if !isDefault {
		require.Positive(t, seen.limited.Load())
		require.Greater(t, seen.changed.Load(), int64(count/50))
	}
}

// report logs what became of the calls, and requires what holds with every limit.
func (seen *tally) report(t *testing.T, count int) {
	t.Logf("%d calls: %d changed something, %d were refused for who made them, %d by a limit; %d decisions; %d MiB",
		count, seen.changed.Load(), seen.refused.Load(), seen.limited.Load(), seen.decided, seen.memory.Load()>>20)
	require.Less(t, seen.memory.Load(), uint64(mostMemory))
	// A test of refusals alone would show nothing.
	require.Positive(t, seen.decided)
	require.Positive(t, seen.changed.Load())
}

// tally counts what became of the calls to all services.
type tally struct {
	changed, refused, limited atomic.Int64
	decided                   int
	memory                    atomic.Uint64
}

// callOneService starts a service, makes count calls to it, and holds its events, rules and tokens against the table.
// Members of the quota that are 0 are the defaults.
func (seen *tally) callOneService(t *testing.T, count int, quota *wire.Quota) {
	var log errorLog
	service := inprocess.Start(t, "sqlite:"+filepath.Join(t.TempDir(), "roles.db"), inprocess.Options{
		Closed: true, Quota: quota, Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelError})),
	})
	var admin string
	for _, c := range callers {
		switch {
		case c.name == "forger":
			forged := "x"
			if strings.HasSuffix(admin, forged) {
				forged = "y"
			}
			c.secret = admin[:len(admin)-1] + forged
		case c.role != "":
			body := &api.CreateTokenBody{Name: c.name, Role: api.Role(c.role), Principal: c.principal()}
			if c.prefix != "" {
				body.SessionPrefixes = []string{c.prefix}
			}
			if c.agent != "" {
				body.AgentIDs = []string{c.agent}
			}
			made, _, err := service.Keyring.Create(t.Context(), body, "user:test", "")
			require.NoError(t, err)
			if c.secret = made.Secret; c.role == "admin" {
				admin = c.secret
			}
		}
	}
	reader := service.Connect(client.WithToken(admin))
	for _, session := range []string{"a-1", "a-2", "b-1", "b-2"} {
		_, err := reader.CreateSession(t.Context(), client.CreateSessionParams{SessionID: session, AgentID: "coder"})
		require.NoError(t, err)
	}

	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var made atomic.Int64
	var workers sync.WaitGroup
	for worker := range callersAtOnce {
		workers.Go(func() {
			g := &generator{rand: rand.New(rand.NewPCG(seed, uint64(worker)))}
			for made.Add(1) <= int64(count) && !t.Failed() {
				g.progress = int(made.Load())
				by := callers[g.rand.IntN(len(callers))]
				c := g.call(by)
				if g.rand.IntN(departs) == 0 {
					depart(t.Context(), service.URL, by, c)
					continue
				}
				status, text, err := send(t.Context(), service.URL, by, c)
				if err != nil {
					t.Errorf("%s %s: %v", c.method, c.path, err)
					return
				}
				if g.progress%1_000 == 0 {
					var stats runtime.MemStats
					runtime.ReadMemStats(&stats)
					if now := stats.Sys - stats.HeapReleased; now > seen.memory.Load() {
						seen.memory.Store(now)
					}
				}
				g.hear(c, text)
				if problem := judge(by, c, status, text); problem != "" {
					t.Errorf("%s by %s: %s %s %s: %d %s", problem, by.name, c.method, c.path, c.body, status, text)
				}
				switch {
				case status == http.StatusTooManyRequests:
					seen.limited.Add(1)
				case status < 300 && c.method != http.MethodGet:
					seen.changed.Add(1)
				case status == http.StatusForbidden, status == http.StatusUnauthorized:
					seen.refused.Add(1)
				}
			}
		})
	}
	workers.Wait()
	seen.decided += requireLawful(t, reader)
	require.Empty(t, log.text())
}

// errorLog has the errors that a service logs.
type errorLog struct {
	mu    sync.Mutex
	lines bytes.Buffer
}

func (l *errorLog) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines.Write(line)
}

func (l *errorLog) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines.String()
}

// httpClient keeps a connection for each caller at once. The default one would open a new one for most calls.
var httpClient = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: callersAtOnce}}

// depart makes a call and leaves when the service has it.
func depart(ctx context.Context, url string, by *caller, c call) {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { leave() }})
	_, _, _ = send(ctx, url, by, c) // it may have been answered already
}

func send(ctx context.Context, url string, by *caller, c call) (status int, text string, err error) {
	request, err := http.NewRequestWithContext(ctx, c.method, url+c.path, strings.NewReader(c.body))
	if err != nil {
		return 0, "", err
	}
	request.Header.Set("Content-Type", "application/json")
	if by.secret != "" {
		request.Header.Set("Authorization", "Bearer "+by.secret)
	}
	if c.key != "" {
		request.Header.Set("Idempotency-Key", c.key)
	}
	if c.actor != "" {
		request.Header.Set("X-Actor", c.actor)
	}
	response, err := httpClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}

// withoutCredential returns the status of a call whose credential is missing or invalid. Clients of hermes
// take a 401 as the end of their own sign-in.
func withoutCredential(path string) int {
	if strings.HasPrefix(path, "/api/approval/") || strings.HasPrefix(path, "/api/clarify/") {
		return http.StatusForbidden
	}
	return http.StatusUnauthorized
}

// judge returns what is wrong with a reply.
func judge(by *caller, c call, status int, text string) string {
	permitted := by.permits(c.method, c.path)
	switch {
	case status >= 500:
		return "an error of the service"
	case by.role == "" && !permitted && status != withoutCredential(c.path):
		return "answered without a credential"
	case by.role != "" && status == http.StatusUnauthorized:
		return "a credential was refused"
	case status == http.StatusTooManyRequests && by.role != "":
		// A limit comes before the role and after the credential. The reply is held against the words below.
	case by.role != "" && !permitted && status != http.StatusForbidden:
		return "the role forbids it"
	case permitted && c.session != "" && !by.reaches(c.session) && status < 300 && !c.list:
		return "the session is out of reach"
	case permitted && !by.fits(c.run) && status < 300:
		return "the run is of an agent out of reach"
	}
	for _, of := range []string{"a-", "b-"} {
		if !by.reaches(of) && strings.Contains(text, wordOf(of)) {
			return "shows what is out of reach"
		}
	}
	return ""
}

// requireLawful holds who caused each event, and who wrote each rule and token, against the table. It
// returns how many decisions there were.
func requireLawful(t *testing.T, reader *client.Client) (decided int) {
	t.Helper()
	by := map[string]*caller{}
	for _, c := range callers {
		by[c.principal()] = c
	}
	agents := map[string]string{} // by session
	for session, err := range reader.AllSessions(t.Context(), client.SessionListParams{}) {
		require.NoError(t, err)
		agents[session.SessionID] = session.AgentID
		for entry, err := range reader.AllSessionEvents(t.Context(), session.SessionID, client.EventListParams{}) {
			require.NoError(t, err)
			var event struct {
				Type        string           `json:"type"`
				Resolution  api.Resolution   `json:"resolution"`
				Resolutions []api.Resolution `json:"resolutions"`
			}
			require.NoError(t, json.Unmarshal(entry.Event, &event))
			var outcomes []string
			for _, resolution := range append(event.Resolutions, event.Resolution) {
				switch {
				case resolution.Outcome == "":
				case strings.HasPrefix(resolution.Via, api.ViaRule): // a rule decides for the caller that raises it
					require.Contains(t, []string{"operator", "admin"}, by[resolution.ResolvedBy].role)
				default:
					outcomes = append(outcomes, string(resolution.Outcome))
					decided++
				}
			}
			if entry.Actor == "system" || strings.HasPrefix(entry.Actor, "rule") {
				continue
			}
			actor := by[entry.Actor]
			require.NotNil(t, actor, "%s caused %s in %s", entry.Actor, event.Type, session.SessionID)
			require.True(t, actor.mayCause(session.SessionID, event.Type, outcomes), "%s caused %s %v in %s", entry.Actor, event.Type, outcomes, session.SessionID)
			// An interrupt, which is about the whole session, cancels the requests of all of its runs.
			decidedOf := slices.DeleteFunc(slices.Clone(outcomes), func(outcome string) bool { return outcome == "cancelled" })
			require.True(t, len(decidedOf) == 0 || actor.fits(entry.RunID), "%s decided %v for a run of another agent in %s", entry.Actor, outcomes, session.SessionID)
		}
	}
	require.GreaterOrEqual(t, len(agents), 4)
	for rule, err := range reader.AllRules(t.Context(), client.RuleListParams{}) {
		require.NoError(t, err)
		writer := by[rule.CreatedBy]
		require.NotNil(t, writer, rule.CreatedBy)
		require.Contains(t, []string{"operator", "admin"}, writer.role)
		if rule.SessionID == "" {
			require.Equal(t, "admin", writer.role, "a rule of all sessions")
		} else {
			require.True(t, writer.reaches(rule.SessionID))
			require.Contains(t, []string{"", agents[rule.SessionID]}, writer.agent, "a rule of another agent's session %s", rule.SessionID)
		}
	}
	tokens, err := reader.ListTokens(t.Context(), client.TokenListParams{})
	require.NoError(t, err)
	for _, token := range tokens.Data {
		require.Contains(t, []string{"user:test", "user:admin"}, token.CreatedBy)
	}
	return decided
}

func wordOf(prefix string) string {
	return fmt.Sprintf("the-secret-of-%s-sessions", strings.TrimSuffix(prefix, "-"))
}
