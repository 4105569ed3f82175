package notify_test

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/auth/sealing"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/notify"
	"github.com/holdpoint/holdpoint/notify/channels"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/store"
	"github.com/holdpoint/holdpoint/test/inprocess"
	"github.com/holdpoint/holdpoint/test/slackpeer"
	"github.com/holdpoint/holdpoint/webhooks/egress"
)

// slacked is a service that sends to Slack.
type slacked struct {
	*service
	slack  *slackpeer.Workspace
	people map[string]*client.Client
}

// The Slack users of the tests. Eve has no address.
const (
	slackAda, slackBen, slackEve = "U0ADA", "U0BEN", "U0EVE"
)

// retries retries the failed messages of Slack at once, until none is left and it is done.
func (s *slacked) retries(t *testing.T, done func() bool) {
	t.Helper()
	eventually(t, "another attempt", func() bool {
		effects := s.effects(t, reads.EffectQuery{WebhookID: model.NoticeWebhookID("slack"), State: api.EffectPending, Limit: 20})
		for i := range effects {
			if effects[i].LastError != "" {
				_, err := s.people["ada"].RetryEffect(t.Context(), "s", effects[i].EffectID)
				require.NoError(t, err)
			}
		}
		return done() && len(effects) == 0
	})
}

// withSlack starts a service whose only channel is Slack, and verifies Ada's and Ben's ids.
func withSlack(t *testing.T, database, content string) *slacked {
	t.Helper()
	s := &slacked{service: &service{database: database, log: &safeBuffer{}}, slack: slackpeer.Start(t)}
	folder := t.TempDir()
	for name, text := range map[string]string{
		"app": "xapp-secret\n", "bot": "xoxb-secret\n",
		"channels.yaml": fmt.Sprintf("channels: {slack: {kind: slack, app_token_file: app, bot_token_file: bot, api_url: %q, content: %s}}", s.slack.URL(), content),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	caller := egress.New(egress.Options{Guard: loopback})
	t.Cleanup(caller.Close)
	loaded, err := channels.Load(filepath.Join(folder, "channels.yaml"), caller)
	require.NoError(t, err)
	keys, err := sealing.Load(filepath.Join(folder, "keys"))
	require.NoError(t, err)
	stored := store.Options{NotifyAfter: time.Second}
	if database == inprocess.Memory {
		stored.NowMs = func() int64 { return time.Now().UnixMilli() + s.later.Load() }
	}
	s.Service = inprocess.Start(t, database, inprocess.Options{
		Channels: loaded, ExternalURL: "https://holdpoint.example", WebhookGuard: loopback, Closed: true, Logger: s.log.logger(), Sealer: keys,
		Store: stored, NowMs: func() int64 { return time.Now().UnixMilli() + s.ahead.Load() },
	})
	s.people = s.service.people(t)
	s.bind(t, s.people["ada"], slackAda)
	s.bind(t, s.people["ben"], slackBen)
	return s
}

// bind verifies the Slack id of a person.
func (s *slacked) bind(t *testing.T, c *client.Client, user string) {
	t.Helper()
	addressID, code := s.addSlack(t, c, user)
	_, err := c.VerifyAddress(t.Context(), addressID, code)
	require.NoError(t, err)
}

// addSlack adds the Slack id of a person, and returns the code that Slack got.
func (s *slacked) addSlack(t *testing.T, c *client.Client, user string) (addressID, code string) {
	t.Helper()
	added, err := c.AddAddress(t.Context(), api.AddressBody{Channel: "slack", Address: user})
	require.NoError(t, err)
	posts := s.slack.About(user, "Code: ")
	return added.AddressID, regexp.MustCompile(`Code: (\d{6})`).FindStringSubmatch(posts[len(posts)-1].Blocks)[1]
}

// TestASlackUserIsOnePerson verifies one Slack id for two people: the second is refused, even if both type
// their codes at once, until the first removes it.
func TestASlackUserIsOnePerson(t *testing.T) {
	onEngines(t, func(t *testing.T, database string) {
		s := withSlack(t, database, "none")
		ada, ben := s.people["ada"], s.people["ben"]
		s.ahead.Add(api.AddressCodePauseMs)
		addressID, code := s.addSlack(t, ben, slackAda)
		_, err := ben.VerifyAddress(t.Context(), addressID, "wrong")
		require.ErrorContains(t, err, string(api.CodeAddressCodeWrong), "only the right code shows that somebody has the id")
		_, err = ben.VerifyAddress(t.Context(), addressID, code)
		require.ErrorContains(t, err, string(api.CodeAddressTaken))
		require.ErrorIs(t, err, client.ErrConflict)

		mine, err := ada.ListAddresses(t.Context())
		require.NoError(t, err)
		require.NoError(t, ada.RemoveAddress(t.Context(), mine.Data[0].AddressID))
		_, err = ben.VerifyAddress(t.Context(), addressID, code)
		require.NoError(t, err)

		s.ahead.Add(api.AddressCodePauseMs)
		first, firstCode := s.addSlack(t, ada, slackEve)
		s.ahead.Add(api.AddressCodePauseMs)
		second, secondCode := s.addSlack(t, ben, slackEve)
		var tries sync.WaitGroup
		errs := make([]error, 2)
		tries.Go(func() { _, errs[0] = ada.VerifyAddress(t.Context(), first, firstCode) })
		tries.Go(func() { _, errs[1] = ben.VerifyAddress(t.Context(), second, secondCode) })
		tries.Wait()
		require.NotEqual(t, errs[0] == nil, errs[1] == nil, errs)
		require.ErrorContains(t, cmp.Or(errs[0], errs[1]), string(api.CodeAddressTaken))
	})
}

// asks raises an approval, and returns its run and the message to Ada.
func (s *slacked) asks(t *testing.T, session string, approval api.ApprovalRequest) (string, slackpeer.Post) {
	t.Helper()
	before := len(s.slack.Of(slackAda))
	approval.ID, approval.ToolCallID = "a", "a"
	run, err := s.people["maker"].CreateRun(t.Context(), client.CreateRunParams{SessionID: session, AgentID: "coder", Input: 1, Suspend: &api.Suspension{Approvals: []api.ApprovalRequest{approval}}})
	require.NoError(t, err)
	eventually(t, "the message", func() bool { return len(s.slack.Of(slackAda)) > before })
	posts := s.slack.Of(slackAda)
	return run.RunID, posts[len(posts)-1]
}

// recorded returns the resolution of the only approval of a run; nil while it is open.
func (s *slacked) recorded(t *testing.T, runID string) *api.Resolution {
	t.Helper()
	record := s.recordOf(t, runID)
	if record.Requests[0].Open() {
		return nil
	}
	resolution := record.Requests[0].Recorded()
	return &resolution
}

var restart = api.ApprovalRequest{ToolName: "restart", Input: api.JSON(`{"host":"db1"}`)}

// The right person's press decides once, however often it comes, and everyone's message shows the outcome.
func TestAPressInSlackDecides(t *testing.T) {
	onEngines(t, func(t *testing.T, database string) {
		s := withSlack(t, database, "summary")
		runID, post := s.asks(t, "s", restart)
		require.Contains(t, post.Blocks, `db1`)
		buttons := post.Values(t)
		require.Len(t, buttons, 3)
		require.Contains(t, buttons["open"], "https://holdpoint.example/l/hplink_")
		eventually(t, "the message to Ben", func() bool { return len(s.slack.About(slackBen, "restart")) == 1 })
		ben := s.slack.About(slackBen, "restart")[0].Values(t)
		require.NotEqual(t, ben["allow"], buttons["allow"])

		s.slack.Press(t, slackAda, "allow", buttons["allow"], 3)
		made := s.recorded(t, runID)
		require.NoError(t, pressRecorded(made, api.OutcomeAllowed))
		for _, text := range s.slack.Whispered(slackAda) {
			require.Equal(t, "Already decided: allowed by user:ada.", text)
		}
		s.slack.Press(t, slackBen, "deny", ben["deny"], 1)
		require.Equal(t, []string{"Already decided: allowed by user:ada."}, s.slack.Whispered(slackBen))
		require.Equal(t, made, s.recorded(t, runID))
		for _, user := range []string{slackAda, slackBen} {
			eventually(t, "the outcome", func() bool { return len(s.slack.About(user, "allowed by user:ada")) == 1 })
			require.Empty(t, s.slack.About(user, "wants to use"))
			require.Empty(t, s.slack.About(user, "allowed by user:ada")[0].Values(t))
		}
		resolved := slices.DeleteFunc(s.events(t, runID), func(kind string) bool { return kind != "approval_resolved" })
		require.Len(t, resolved, 1)
		s.healthy(t)
		require.NotContains(t, s.log.text(), "xoxb-secret")
		require.NotContains(t, s.log.text(), slackAda)
	})
}

// A button decides for its own person only. Others are told in private, and it is recorded once.
func TestAPressByAnotherPerson(t *testing.T) {
	t.Parallel()
	s := withSlack(t, inprocess.Memory, "summary")
	runID, post := s.asks(t, "s", restart)
	buttons := post.Values(t)
	for _, user := range []string{slackBen, slackEve, slackBen} {
		s.slack.Press(t, user, "allow", buttons["allow"], 1)
		s.slack.Press(t, user, "deny", buttons["deny"], 1)
	}
	require.Nil(t, s.recorded(t, runID))
	require.Len(t, s.slack.Whispered(slackBen), 4)
	require.Len(t, s.slack.Whispered(slackEve), 2)
	require.Contains(t, s.slack.Whispered(slackEve)[0], "for another person")
	log, err := s.people["ada"].ListAudit(t.Context(), client.AuditListParams{})
	require.NoError(t, err)
	refused := 0
	for _, entry := range log.Data {
		if bytes.Contains(entry.Event, []byte(`"press_refused"`)) {
			refused++
		}
	}
	require.Equal(t, 1, refused)

	// A guessed reference, and one that names the request.
	for _, guess := range []string{"", "a", auth.NewLinkSecret()} {
		s.slack.Press(t, slackAda, "allow", guess, 1)
	}
	require.Nil(t, s.recorded(t, runID))
	require.Len(t, s.slack.Whispered(slackAda), 3)

	s.slack.Press(t, slackAda, "deny", buttons["deny"], 1)
	require.Equal(t, api.OutcomeDenied, s.recorded(t, runID).Outcome)
	s.healthy(t)
}

// Only what the message shows as a whole may be allowed in Slack. Everything may be denied there.
func TestNothingUnseenIsAllowedInSlack(t *testing.T) {
	t.Parallel()
	hint := func(level api.HintLevel) api.ApprovalRequest {
		return api.ApprovalRequest{ToolName: "restart", Input: api.JSON(`{"host":"db1"}`), Hints: []api.Hint{{Level: level, Text: "a remark"}}}
	}
	for name, test := range map[string]struct {
		content  string
		approval api.ApprovalRequest
		allow    bool
	}{
		"whole":          {"summary", restart, true},
		"info":           {"summary", hint(api.HintInfo), true},
		"no content":     {"none", restart, false},
		"danger":         {"summary", hint(api.HintDanger), false},
		"warning":        {"summary", hint(api.HintWarn), false},
		"long":           {"summary", api.ApprovalRequest{ToolName: "restart", Input: api.JSON(`"` + strings.Repeat("x", 600) + `"`)}, false},
		"many lines":     {"summary", api.ApprovalRequest{ToolName: "restart", Input: api.JSON(`[` + strings.Repeat("1,", 12) + `1]`)}, false},
		"long when safe": {"summary", api.ApprovalRequest{ToolName: "restart", Input: api.JSON(`"` + strings.Repeat("\u202e", 150) + `"`)}, false},
		"long reason":    {"summary", api.ApprovalRequest{ToolName: "restart", Input: api.JSON(`1`), Reason: strings.Repeat("y", 700)}, false},
		"long tool":      {"summary", api.ApprovalRequest{ToolName: "restart " + strings.Repeat("z", 80) + " --force", Input: api.JSON(`1`)}, false},
		"an address":     {"summary", api.ApprovalRequest{ToolName: "fetch https://db1.example/a", Input: api.JSON(`1`)}, true},
		"hidden in tool": {"summary", api.ApprovalRequest{ToolName: "restart\u202e", Input: api.JSON(`1`)}, false},
		"sensitive":      {"summary", api.ApprovalRequest{ToolName: "restart", Input: api.JSON(`{"key":"hunter2"}`), SensitivePaths: []string{"/key"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := withSlack(t, inprocess.Memory, test.content)
			runID, post := s.asks(t, "s", test.approval)
			buttons := post.Values(t)
			require.Equal(t, test.allow, buttons["allow"] != "")
			require.NotEmpty(t, buttons["deny"])
			require.NotEmpty(t, buttons["open"])
			require.NotContains(t, post.Blocks, "hunter2")
			if test.allow {
				require.Contains(t, post.Blocks, "wants to use "+test.approval.ToolName, "the message shows the name that is allowed")
			}
			require.Equal(t, test.allow, strings.Contains(post.Blocks, "rich_text_preformatted"))
			if !test.allow {
				s.slack.Press(t, slackAda, "allow", buttons["deny"], 1)
				require.Nil(t, s.recorded(t, runID))
				require.Contains(t, s.slack.Whispered(slackAda)[0], "does not show")
			}
			s.slack.Press(t, slackAda, "deny", buttons["deny"], 1)
			require.Equal(t, api.OutcomeDenied, s.recorded(t, runID).Outcome)
		})
	}
}

// The message shows what the terminal shows before an approval, and a line of the agent stays one line.
func TestSlackShowsEveryRowThatDecides(t *testing.T) {
	t.Parallel()
	s := withSlack(t, inprocess.Memory, "summary")
	_, post := s.asks(t, "s", api.ApprovalRequest{
		ToolName: "bash", Reason: "tidy\nsomeone else must allow it: no", ExcludeRequester: true, Input: api.JSON(`{"command":"cd /srv\nmake"}`),
	})
	require.Contains(t, post.Blocks, `Agent coder wants to use bash to run a command.`)
	require.Contains(t, post.Blocks, `action: Run a command\nreason: tidy⏎someone else must allow it: no\nsomeone else must allow it: yes\ncommand:\n│ cd /srv\n│ make"`)
}

// A button dies after 72 hours, with the input that its message showed, and with its person's credential.
func TestButtonsEnd(t *testing.T) {
	t.Parallel()
	s := withSlack(t, inprocess.Memory, "summary")
	runID, post := s.asks(t, "s", restart)
	buttons := post.Values(t)

	changed := auth.NewLinkSecret()
	links := storeAs[notify.LinkStore](t, s.Store)
	row, err := links.LinkByHash(t.Context(), auth.HashOf(buttons["allow"]))
	require.NoError(t, err)
	sum := sha256.Sum256([]byte(changed + " sha256:of another input"))
	row.TokenHash, row.CodeHash = auth.HashOf(changed), hex.EncodeToString(sum[:])
	require.NoError(t, links.AddLink(t.Context(), row))
	s.slack.Press(t, slackAda, "allow", changed, 1)
	require.Contains(t, s.slack.Whispered(slackAda)[0], "does not show")

	s.ahead.Store(api.LinkMs)
	s.slack.Press(t, slackAda, "allow", buttons["allow"], 1)
	require.Contains(t, s.slack.Whispered(slackAda)[1], "does not work any more")
	s.ahead.Store(0)

	eventually(t, "the message to Ben", func() bool { return len(s.slack.About(slackBen, "restart")) == 1 })
	tokens, err := s.people["ada"].ListTokens(t.Context(), client.TokenListParams{})
	require.NoError(t, err)
	for _, token := range tokens.Data {
		if token.Principal == "user:ben" {
			require.NoError(t, s.people["ada"].RevokeToken(t.Context(), token.TokenID))
		}
	}
	s.slack.Press(t, slackBen, "allow", s.slack.About(slackBen, "restart")[0].Values(t)["allow"], 1)
	require.Contains(t, s.slack.Whispered(slackBen)[0], "may not decide")
	require.Nil(t, s.recorded(t, runID))

	// An address that was removed has no buttons.
	addresses, err := s.people["ada"].ListAddresses(t.Context())
	require.NoError(t, err)
	require.NoError(t, s.people["ada"].RemoveAddress(t.Context(), addresses.Data[0].AddressID))
	s.slack.Press(t, slackAda, "allow", buttons["allow"], 1)
	require.Nil(t, s.recorded(t, runID))
}

// Slack reads nothing in an agent's texts: they are plain elements, and what a person would not see is
// escaped.
func TestHostileTextsInSlack(t *testing.T) {
	t.Parallel()
	s := withSlack(t, inprocess.Memory, "summary")
	tool := "<!channel> *b* `c` <https://evil.example|bank> @here \u0430dmin"
	hostile := tool + " \u202egnp"
	_, post := s.asks(t, "s", api.ApprovalRequest{ToolName: tool, Input: api.JSON(fmt.Sprintf("%q", hostile)), Reason: hostile})
	require.NotContains(t, post.Text, "<")
	require.NotContains(t, post.Text, "\u202e")
	require.NotContains(t, post.Blocks, "\u202e")
	require.NotContains(t, post.Blocks, "mrkdwn")
	require.Contains(t, post.Blocks, `\\u202e`)
	require.Contains(t, post.Blocks, `\\u0430dmin`)
	require.NotContains(t, post.Blocks, `"type":"link"`)
	require.NotContains(t, post.Blocks, `"type":"broadcast"`)
}

// Errors of Slack are final, or retried after the pause that Slack asks for.
func TestErrorsOfSlack(t *testing.T) {
	t.Parallel()
	s := withSlack(t, inprocess.Memory, "none")
	pending := func() *model.Effect {
		effects := s.effects(t, reads.EffectQuery{WebhookID: model.NoticeWebhookID("slack"), State: api.EffectPending, Limit: 20})
		if len(effects) == 0 || effects[0].LastError == "" {
			return nil
		}
		return &effects[0]
	}
	s.slack.Set(func() { s.slack.Answers["chat.postMessage"] = slackpeer.Limits(10 * time.Minute) })
	one := restart
	one.ID, one.ToolCallID = "a", "a"
	suspend := &api.Suspension{Approvals: []api.ApprovalRequest{one}}
	_, err := s.people["maker"].CreateRun(t.Context(), client.CreateRunParams{SessionID: "s", AgentID: "coder", Input: 1, Suspend: suspend})
	require.NoError(t, err)
	eventually(t, "a retry", func() bool { return pending() != nil })
	require.Greater(t, pending().DueAtMs, time.Now().Add(9*time.Minute).UnixMilli())

	for _, code := range []string{"channel_not_found", "user_not_found"} {
		s.slack.Set(func() { s.slack.Answers["chat.postMessage"] = slackpeer.Refuses(code) })
		run, err := s.people["maker"].CreateRun(t.Context(), client.CreateRunParams{SessionID: code, AgentID: "coder", Input: 1, Suspend: suspend})
		require.NoError(t, err)
		eventually(t, code, func() bool { return slices.Contains(s.events(t, run.RunID), "notification_failed") })
	}
	// The token of the app does not work: the operator has to replace it, and then the messages follow.
	for _, code := range []string{"account_inactive", "invalid_auth"} {
		s.slack.Set(func() { s.slack.Answers["chat.postMessage"] = slackpeer.Refuses(code) })
		run, err := s.people["maker"].CreateRun(t.Context(), client.CreateRunParams{SessionID: code, AgentID: "coder", Input: 1, Suspend: suspend})
		require.NoError(t, err)
		eventually(t, code, func() bool {
			return slices.ContainsFunc(s.effects(t, reads.EffectQuery{SessionID: code, State: api.EffectPending, Limit: 20}), func(effect model.Effect) bool {
				return strings.Contains(effect.LastError, code)
			})
		})
		require.NotContains(t, s.events(t, run.RunID), "notification_failed")
	}
	list, err := s.people["ada"].ListChannels(t.Context())
	require.NoError(t, err)
	require.Equal(t, api.ChannelSlack, list.Data[0].Kind)
	require.Positive(t, list.Data[0].Failed)
	require.NotEmpty(t, list.Data[0].LastError)
	require.NotContains(t, fmt.Sprint(list), "secret")
	tested, err := s.people["ada"].TestChannel(t.Context(), "slack", slackAda)
	require.NoError(t, err)
	require.Contains(t, tested.Error, "invalid_auth")
}

// The answer to a message was lost: the next attempt finds the message by its metadata.
func TestASlackMessageWithAnUnknownEnd(t *testing.T) {
	t.Parallel()
	s := withSlack(t, inprocess.Memory, "summary")
	s.slack.Set(func() {
		s.slack.After["chat.postMessage"] = func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) }
	})
	runID, _ := s.asks(t, "s", restart)
	// Long messages that followed make a long answer.
	s.slack.Set(func() {
		for n := range 120 {
			s.slack.Messages = append(s.slack.Messages, &slackpeer.Post{Channel: "D" + slackAda[1:], Timestamp: fmt.Sprintf("1800000%03d.1", n), Text: strings.Repeat("x", 12_000)})
		}
	})
	retried := func() (is bool) {
		s.slack.Set(func() { is = slices.Contains(s.slack.Calls, "conversations.history") })
		return is
	}
	s.retries(t, retried)
	require.NotContains(t, s.events(t, runID), "notification_failed")
	require.Len(t, s.slack.About(slackAda, "restart"), 1)
	require.Len(t, s.slack.About(slackBen, "restart"), 1)
	s.slack.Press(t, slackAda, "allow", s.slack.About(slackAda, "restart")[0].Values(t)["allow"], 1)
	require.Equal(t, api.OutcomeAllowed, s.recorded(t, runID).Outcome)
	eventually(t, "the outcome", func() bool { return len(s.slack.About(slackBen, "allowed by user:ada")) == 1 })
	s.healthy(t)
}

// A person has left the workspace: their message cannot be changed, which is not a failure that anybody can mend.
func TestASlackConversationThatIsGone(t *testing.T) {
	t.Parallel()
	s := withSlack(t, inprocess.Memory, "summary")
	runID, _ := s.asks(t, "s", restart)
	eventually(t, "the message to Ben", func() bool { return len(s.slack.About(slackBen, "restart")) == 1 })
	s.slack.Set(func() { s.slack.Answers["chat.update"] = slackpeer.Refuses("channel_not_found") })
	s.resolve(t, s.people["ada"], runID, api.BehaviorDeny, "a")
	eventually(t, "the withdrawal", func() bool {
		effects := s.effects(t, reads.EffectQuery{WebhookID: model.NoticeWebhookID("slack"), State: api.EffectPending, Limit: 20})
		return len(effects) == 0
	})
	failed := s.effects(t, reads.EffectQuery{WebhookID: model.NoticeWebhookID("slack"), State: api.EffectFailed, Limit: 20})
	require.Empty(t, failed)
	s.healthy(t)
}
