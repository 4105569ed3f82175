package client_test

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/client"
)

func TestARefusalAfterALostAttemptSaysThatTheOutcomeIsNotKnown(t *testing.T) {
	t.Parallel()
	resolve := func(ctx context.Context, c *client.Client) error {
		_, err := c.ResolveRunApprovals(ctx, "r", client.ResolveApprovalsParams{})
		return err
	}
	read := func(ctx context.Context, c *client.Client) error { _, err := c.GetRun(ctx, "r"); return err }
	for name, test := range map[string]struct {
		call    func(context.Context, *client.Client) error
		replies []string // "502" or a status and a code
		lost    bool
	}{
		"refused by rate":          {call: resolve, replies: []string{"502", "429 rate_limited", "429 rate_limited", "429 rate_limited"}, lost: true},
		"lost in between":          {call: resolve, replies: []string{"429 rate_limited", "503", "429 rate_limited", "429 rate_limited"}, lost: true},
		"token revoked meanwhile":  {call: resolve, replies: []string{"504", "401 invalid_token"}, lost: true},
		"role changed meanwhile":   {call: resolve, replies: []string{"502", "403 forbidden"}, lost: true},
		"scope narrowed meanwhile": {call: resolve, replies: []string{"502", "404 run_not_found"}, lost: true},
		"never found":              {call: resolve, replies: []string{"404 run_not_found"}},
		"service fails":            {call: resolve, replies: []string{"502", "500 internal_error"}, lost: true},
		"page of a proxy":          {call: resolve, replies: []string{"502", "404"}, lost: true},
		"proxy without patience":   {call: resolve, replies: []string{"502", "408 RequestTimeout"}, lost: true},
		"service has decided":      {call: resolve, replies: []string{"502", "409 approval_state_conflict"}},
		"never lost":               {call: resolve, replies: []string{"429 rate_limited", "429 rate_limited", "429 rate_limited", "429 rate_limited"}},
		"a read":                   {call: read, replies: []string{"502", "401 invalid_token"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				served := 0
				err := test.call(t.Context(), connect(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					text, code, coded := strings.Cut(test.replies[served], " ")
					served++
					status, _ := strconv.Atoi(text)
					w.WriteHeader(status)
					if coded {
						_, _ = io.WriteString(w, `{"code":"`+code+`"}`)
					}
				})))
				var refused *client.Error
				require.ErrorAs(t, err, &refused)
				require.Equal(t, test.lost, refused.Lost)
				require.Len(t, test.replies, served, "it is not repeated more than otherwise")
				if test.lost {
					require.ErrorIs(t, err, client.ErrUnavailable)
					require.ErrorContains(t, err, "an earlier attempt had no reply and may have taken effect")
				} else {
					require.NotErrorIs(t, err, client.ErrUnavailable)
				}
			})
		})
	}
}

// A worker also repeats calls whose reply was not the service's, without [client.ErrUnavailable].
func TestARefusalAfterAnAnswerOfAProxySaysThatTheOutcomeIsNotKnown(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]struct {
		status int
		body   string
	}{"an error": {status: http.StatusInternalServerError}, "timed out, coded": {status: http.StatusRequestTimeout, body: `{"code":"RequestTimeout"}`}} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *rig) {
				b.handle("run", func(ctx context.Context, task *client.Task) error {
					calls := 0
					b.service.setBefore(func(w http.ResponseWriter, r *http.Request) bool {
						if !strings.HasSuffix(r.URL.Path, "/events") {
							return false
						}
						if calls++; calls == 1 {
							w.WriteHeader(reply.status)
							_, _ = io.WriteString(w, reply.body)
						} else {
							w.WriteHeader(http.StatusForbidden)
							_, _ = io.WriteString(w, `{"code":"forbidden"}`)
						}
						return true
					})
					err := task.Output(ctx, "text")
					b.service.setBefore(nil)
					var refused *client.Error
					if assert.ErrorAs(b, err, &refused) {
						assert.True(b, refused.Lost)
					}
					return nil
				})
				b.completes("run")
			})
		})
	}
}
