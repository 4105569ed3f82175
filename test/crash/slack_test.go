//go:build faults

package crash

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/internal/failpoint"
	"github.com/holdpoint/holdpoint/test/rig"
	"github.com/holdpoint/holdpoint/test/slackpeer"
)

// slackKill is a kill around a message in Slack: at a failpoint, or by Slack once it has carried out a call of a method
// and before it answers. settles says that the request is settled first, so that the message is being changed.
type slackKill struct {
	plan, method string
	settles      bool
}

// TestSlackMessagesOfAKilledService kills the service at each step of sending a message to Slack, and of putting the
// outcome in its place. Each person sees one message about their request, which then shows the outcome.
func TestSlackMessagesOfAKilledService(t *testing.T) {
	rig.Databases(t, func(t *testing.T, database string) {
		kills := []slackKill{
			{plan: "webhooks.claimed 1"},
			{method: "chat.postMessage"},
			{plan: "webhooks.notified 1"},
			{method: "chat.update", settles: true},
			{plan: "webhooks.notified 1", settles: true},
		}
		workspace := slackpeer.Start(t)
		service := &replica{plan: t.TempDir() + "/plan"}
		service.Process = rig.Start(t, rig.Options{
			Program: rig.Program(t, "failpoints"), Database: database, Env: []string{failpoint.Variable + "=" + service.plan},
			Args: []string{"--channels", slackChannels(t, workspace), "--notify-after", "1s", "--external-url", "https://holdpoint.example", "--webhook-allow", "127.0.0.0/8"},
		})
		root, err := service.ConnectPatiently().CreateToken(t.Context(), api.CreateTokenBody{Name: "root", Role: api.RoleAdmin})
		require.NoError(t, err)
		admin := service.Connect(client.WithToken(root.Secret), client.WithRetry(client.RetryPolicy{MaxAttempts: 1_000, MaxDelay: time.Second}))
		for i := range kills {
			bindSlack(t, service, admin, workspace, i)
		}
		for i, kill := range kills {
			raise := func() error {
				_, err := admin.CreateRun(rig.Soon(t), client.CreateRunParams{SessionID: sessionOf(i), RunID: runOf(sessionOf(i)), Input: "work", Suspend: approvals(1)})
				return err
			}
			settle := func() error {
				_, err := admin.ResolveRunApprovals(rig.Soon(t), runOf(sessionOf(i)), client.ResolveApprovalsParams{
					Resolutions: []api.ApprovalResolution{{RequestID: "ask-1", Behavior: api.BehaviorDeny}},
				})
				return err
			}
			step := raise
			if kill.settles {
				require.NoError(t, raise())
				require.Eventually(t, func() bool { return len(workspace.About(slackUser(i), "deploy")) == 1 }, 4*time.Minute, 50*time.Millisecond)
				nothingOwed(t, admin)
				step = settle
			}
			if kill.plan == "" {
				ended := service.Ended() // of this process
				workspace.Set(func() {
					workspace.After[kill.method] = func(http.ResponseWriter) {
						delete(workspace.After, kill.method)
						service.Kill()
						<-ended
						panic(http.ErrAbortHandler)
					}
				})
			} else {
				require.NoError(t, service.arm("kill "+kill.plan))
			}
			done := make(chan error, 1)
			go func() { done <- step() }()
			select {
			case <-service.Ended():
			case <-rig.Soon(t).Done():
				require.Fail(t, "the service does not die", kill)
			}
			_ = os.Remove(service.plan)
			require.NoError(t, service.Restart())
			require.NoError(t, service.AwaitReady())
			require.NoError(t, <-done)
			if !kill.settles {
				require.Eventually(t, func() bool { return len(workspace.About(slackUser(i), "deploy")) > 0 }, 4*time.Minute, 50*time.Millisecond)
				nothingOwed(t, admin)
				require.Len(t, workspace.About(slackUser(i), "deploy"), 1, kill)
				require.NoError(t, settle())
			}
			nothingOwed(t, admin)
			require.Len(t, workspace.About(slackUser(i), "deploy"), 1, kill)
			require.Len(t, workspace.About(slackUser(i), "denied by user:root"), 1, kill)
		}
		require.Empty(t, effects(t.Context(), t, admin, api.EffectFailed))
		rig.RequireHealthy(t, database)
	})
}

// slackUser returns the Slack id of the person of a session.
func slackUser(i int) string { return fmt.Sprintf("U0PERSON%d", i) }

// slackChannels returns a file of --channels that sends to a workspace.
func slackChannels(t *testing.T, workspace *slackpeer.Workspace) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range map[string]string{
		"app": slackpeer.AppToken, "bot": slackpeer.BotToken,
		"channels.yaml": fmt.Sprintf("channels: {slack: {kind: slack, app_token_file: app, bot_token_file: bot, api_url: %q}}", workspace.URL()),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	return filepath.Join(folder, "channels.yaml")
}

var codeInSlack = regexp.MustCompile(`Code: (\d{6})`)

// bindSlack makes the person of a session, with a verified Slack id.
func bindSlack(t *testing.T, service *replica, admin *client.Client, workspace *slackpeer.Workspace, i int) {
	t.Helper()
	token, err := admin.CreateToken(t.Context(), api.CreateTokenBody{Name: fmt.Sprintf("person-%d", i), Role: api.RoleOperator, SessionPrefixes: []string{sessionOf(i)}})
	require.NoError(t, err)
	person := service.Connect(client.WithToken(token.Secret))
	added, err := person.AddAddress(t.Context(), api.AddressBody{Channel: "slack", Address: slackUser(i)})
	require.NoError(t, err)
	code := codeInSlack.FindStringSubmatch(workspace.About(slackUser(i), "Code: ")[0].Blocks)[1]
	_, err = person.VerifyAddress(t.Context(), added.AddressID, code)
	require.NoError(t, err)
}
