package channels

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/notify"
)

// The file says what links lead to. Without a setting they lead to a sign-in.
func TestLinksOfChannels(t *testing.T) {
	t.Parallel()
	load := func(settings string) (notify.Channel, error) {
		file := filepath.Join(t.TempDir(), "channels.yaml")
		require.NoError(t, os.WriteFile(file, []byte("channels:\n  push: {kind: push}\n  one: "+settings+"\n"), 0o600))
		loaded, err := Load(file, nil)
		return loaded["one"], err
	}
	const mail, hook = `kind: email, smtp: "smtp://localhost:25", from: a@example.com`, `kind: http, url: "https://example.com"`
	for _, kind := range []string{mail, hook} {
		for setting, want := range map[string]api.LinkMode{
			"": api.LinkSignIn, ", links: sign_in": api.LinkSignIn, ", links: code": api.LinkCode, ", links: none": api.LinkNone,
		} {
			channel, err := load("{" + kind + setting + "}")
			require.NoError(t, err)
			require.Equal(t, want, channel.Links(), kind+setting)
		}
		_, err := load("{" + kind + ", links: always}")
		require.ErrorContains(t, err, "links must be sign_in, code or none")
	}
	file := filepath.Join(t.TempDir(), "channels.yaml")
	require.NoError(t, os.WriteFile(file, []byte("channels: {push: {kind: push, links: code}}"), 0o600))
	_, err := Load(file, nil)
	require.ErrorContains(t, err, "links are of email, http and slack channels")
}

// The template of an HTTP channel has the code as a value of its own.
func TestTheCodeInATemplate(t *testing.T) {
	t.Parallel()
	made, err := (&channel{Kind: "http", URL: "https://example.com", Body: "{{.Link}} {{.Code}}"}).http("", nil)
	require.NoError(t, err)
	_, _, body, err := made.request("ada", made.body, &notify.Message{Link: "L", Code: "1234"})
	require.NoError(t, err)
	require.Equal(t, "L 1234", string(body))
}
