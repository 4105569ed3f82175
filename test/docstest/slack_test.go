package docstest

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/slack-go/slack"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

const slackPage = "docs/slack.md"

// isManifest reports whether a block is the manifest of a Slack app.
func isManifest(b block) bool {
	return b.page == slackPage && strings.HasPrefix(strings.TrimSpace(b.text), "display_information:")
}

// scopesOfMethods are the scopes of the app's bot, by the method of the library.
var scopesOfMethods = map[string]string{
	"PostMessage": "chat:write", "UpdateMessage": "chat:write", "DeleteMessage": "chat:write", "PostEphemeral": "chat:write",
	"OpenConversation": "im:write", "GetConversationHistory": "im:history",
}

var (
	methodOfSlack = regexp.MustCompile(`s\.client\.(\w+)Context\(`)
	eventOfSlack  = regexp.MustCompile(`socketmode\.EventType(\w+)`)
	scopeOfTable  = regexp.MustCompile("(?m)^\\| `([a-z]+:[a-z]+)`")
)

// TestTheSlackAppMayDoWhatTheServiceDoes: the manifest of the page has only members that Slack knows, the scopes of the
// methods that the service calls and no others, and lets it receive presses.
func TestTheSlackAppMayDoWhatTheServiceDoes(t *testing.T) {
	t.Parallel()
	blocks := slices.DeleteFunc(blocksOf(t), func(b block) bool { return !isManifest(b) })
	require.Len(t, blocks, 1)
	var app slack.Manifest
	decoder := yaml.NewDecoder(strings.NewReader(blocks[0].text))
	decoder.KnownFields(true)
	require.NoError(t, decoder.Decode(&app))

	var source string
	files, err := filepath.Glob(filepath.Join(root, "notify", "channels", "slack*.go"))
	require.NoError(t, err)
	for _, file := range files {
		if !strings.HasSuffix(file, "_test.go") {
			source += read(t, file)
		}
	}
	needed := map[string]bool{}
	for _, method := range names(methodOfSlack, source) {
		scope := scopesOfMethods[method]
		require.NotEmpty(t, scope, "%s: which scope does it need?", method)
		needed[scope] = true
	}
	scopes := slices.Sorted(maps.Keys(needed))
	require.Equal(t, scopes, slices.Sorted(slices.Values(app.OAuthConfig.Scopes.Bot)))
	require.Empty(t, app.OAuthConfig.Scopes.User)
	// connections:write is of the token of Socket Mode, which no manifest has.
	require.ElementsMatch(t, append(scopes, "connections:write"), names(scopeOfTable, document(t, slackPage)))

	// Presses come over Socket Mode. The service handles no events, so the app subscribes to none.
	require.True(t, app.Settings.SocketModeEnabled)
	require.ElementsMatch(t, []string{"Connected", "ConnectionError", "Interactive"}, names(eventOfSlack, source))
	require.NotNil(t, app.Settings.Interactivity)
	require.True(t, app.Settings.Interactivity.IsEnabled)
	require.Nil(t, app.Settings.EventSubscriptions)
	require.True(t, app.Features.AppHome.MessagesTabEnabled, "a person reads the messages there")
}
