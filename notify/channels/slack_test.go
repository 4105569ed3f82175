package channels_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/notify/channels"
	"github.com/holdpoint/holdpoint/webhooks/egress"
)

// A file of a Slack channel is refused with its reason, which has no token.
func TestFilesOfSlack(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, text := range map[string]string{"app": "xapp-1\n", "bot": "xoxb-1\n", "swapped": "xoxp-1\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	caller := egress.New(egress.Options{})
	t.Cleanup(caller.Close)
	for settings, want := range map[string]string{
		"app_token_file: app, bot_token_file: bot":                                "",
		"app_token_file: app, bot_token_file: bot, links: none, content: summary": "",
		"app_token_file: app":                                         "bot_token_file: is missing",
		"app_token_file: bot, bot_token_file: bot":                    "app_token_file: must hold a token that begins with xapp-",
		"app_token_file: app, bot_token_file: swapped":                "bot_token_file: must hold a token that begins with xoxb-",
		"app_token_file: app, bot_token_file: gone":                   "no such file",
		"app_token_file: app, bot_token_file: bot, links: code":       "its buttons need no code",
		"app_token_file: app, bot_token_file: bot, api_url: ftp://x/": "api_url must be",
		"app_token_file: app, bot_token_file: bot, url: https://x":    "and nothing else",
	} {
		file := filepath.Join(t.TempDir(), "channels.yaml")
		text := "channels: {chat: {kind: slack, " + settings + "}}"
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		for _, name := range []string{"app", "bot", "swapped"} {
			_ = os.Symlink(filepath.Join(folder, name), filepath.Join(filepath.Dir(file), name)) // the load fails without it
		}
		loaded, err := channels.Load(file, caller)
		if want != "" {
			require.ErrorContains(t, err, want, settings)
			require.NotContains(t, err.Error(), "xoxp-1")
			continue
		}
		require.NoError(t, err, settings)
		require.Equal(t, api.ChannelSlack, loaded["chat"].Kind())
		require.NoError(t, loaded["chat"].CheckAddress("U012AB3CD"))
		for _, address := range []string{"", "ada", "#general", "C012AB3CD", "U1 <!channel>", "u012ab3cd"} {
			require.Error(t, loaded["chat"].CheckAddress(address))
		}
	}
	file := filepath.Join(t.TempDir(), "channels.yaml")
	require.NoError(t, os.WriteFile(file, []byte("channels: {push: {kind: push, app_token_file: app}}"), 0o600))
	_, err := channels.Load(file, caller)
	require.ErrorContains(t, err, "are of slack channels")
}
