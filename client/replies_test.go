package client_test

import (
	"context"
	"io"
	"net/http"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// tellNothing are the methods that take such a reply, or ask again, and why.
var tellNothing = map[string]string{
	"WaitRun":       "waits until the service answers",
	"StreamSession": "connects again", "StreamRun": "connects again", "StreamInbox": "connects again",
	"Ready": "the status says it", "ExportAudit": "copies lines",
	"GetQuietHours": "a caller without quiet hours has {}",
}

// empty are the methods whose reply is empty.
var empty = map[string]bool{"SetPresence": true, "RevokeRule": true, "RevokeToken": true, "RemoveWebhook": true, "RemoveAddress": true, "ClearQuietHours": true}

// No call takes a reply such as {} of an intermediary for the service's.
func TestNoCallTakesAReplyWithoutMembers(t *testing.T) {
	t.Parallel()
	tried := 0
	for page, status := range map[string]int{"{}": http.StatusOK, "null": http.StatusOK, "": http.StatusNoContent} {
		c := connect(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, page)
		}), client.WithRetry(client.RetryPolicy{MaxAttempts: 1}))
		calls := reflect.ValueOf(c)
		for i := range calls.NumMethod() {
			name, of := calls.Type().Method(i).Name, calls.Method(i).Type()
			if of.NumIn() == 0 || of.In(0) != reflect.TypeFor[context.Context]() || tellNothing[name] != "" || page == "" && empty[name] {
				continue
			}
			tried++
			t.Run(name+" "+page, func(t *testing.T) {
				t.Parallel()
				err := called(t, calls.Method(i))
				require.ErrorIs(t, err, client.ErrUnavailable)
				require.ErrorContains(t, err, "the outcome is not known")
			})
		}
		_, err := c.CreateRun(t.Context(), client.CreateRunParams{Claim: &api.ClaimOptions{WorkerID: "w"}})
		require.ErrorIs(t, err, client.ErrUnavailable)
	}
	require.Greater(t, tried, 150)
}

// called makes a call with some arguments and returns its error, or the first that its iterator yields.
func called(t *testing.T, method reflect.Value) error {
	t.Helper()
	given := make([]reflect.Value, method.Type().NumIn())
	for i := range given {
		of := method.Type().In(i)
		given[i] = reflect.New(of).Elem()
		switch value := given[i].Addr().Interface().(type) {
		case *context.Context:
			*value = t.Context()
		case *string:
			*value = "x"
		case *time.Duration:
			*value = time.Second
		case *client.AddRuleParams:
			value.Effect = api.RuleDeny
		case *io.Writer:
			*value = io.Discard
		}
	}
	call := method.Call
	if method.Type().IsVariadic() {
		call = method.CallSlice
	}
	results := call(given)
	last := results[len(results)-1]
	if last.Kind() == reflect.Func {
		for _, err := range last.Seq2() {
			failed, _ := err.Interface().(error)
			return failed
		}
		return nil
	}
	err, _ := last.Interface().(error)
	return err
}

// A reply that a lost connection, or an intermediary, has cut off returns nothing of what it began with.
func TestNoCallReturnsPartOfAReply(t *testing.T) {
	t.Parallel()
	for page, ask := range map[string]func(*client.Client) (any, error){
		`{"claims":[{"run":{"run_id":"r"},"lease":{"fence":"1"},"input":{"directory":"/"}`: func(c *client.Client) (any, error) {
			return c.ClaimRuns(t.Context(), client.ClaimRunsParams{WorkerID: "w"})
		},
		`[{"message_id":"m"},{"message_id":`: func(c *client.Client) (any, error) { return c.Mailbox(t.Context(), "s") },
	} {
		c := connect(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, page) }))
		got, err := ask(c)
		require.ErrorIs(t, err, client.ErrUnavailable)
		require.Empty(t, got)
	}
}

// A retried call returns the members of its last reply only.
func TestARetryTakesNothingFromTheReplyBefore(t *testing.T) {
	t.Parallel()
	for _, refused := range []string{`{"error":"back soon"}`, `{"error":"back soon","run_id":"`} {
		synctest.Test(t, func(t *testing.T) {
			pages := []string{refused, `{"run_id":"r","status":"running"}`}
			c := connect(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, pages[0])
				pages = pages[1:]
			}))
			require.Equal(t, &api.RunView{RunID: "r", Status: api.StatusRunning}, must(c.GetRun(t.Context(), "r"))(t))
		})
	}
}
