package docstest

import (
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/httpapi/wire"
)

// Without keys the service refuses webhooks, callbacks and sensitive answers, signs with a key that the next start
// does not have, and notifies nobody in a browser. So every way to deploy it that the project ships gives them.
func TestShippedDeploymentsGiveKeys(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"docker-compose.yml", "deploy/kubernetes/deployment.yaml", "deploy/systemd/holdpoint.service"} {
		text, err := os.ReadFile(filepath.Join("..", "..", path))
		require.NoError(t, err)
		for _, key := range []string{"HOLDPOINT_SECRET_KEY_FILE", "HOLDPOINT_SIGNING_KEY_FILE", "HOLDPOINT_PUSH_KEY_FILE"} {
			require.Contains(t, string(text), key, path)
		}
	}
}

// A proxy lets the longest body pass, which the service bounds itself.
func TestProxiesPassTheLongestBody(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"deploy/nginx.conf", "docs/behind-a-proxy.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", path))
		require.NoError(t, err)
		found := regexp.MustCompile(`client_max_body_size (\d+)m;`).FindAllStringSubmatch(string(text), -1)
		require.Len(t, found, 1, path)
		megabytes, err := strconv.Atoi(found[0][1])
		require.NoError(t, err)
		require.Greater(t, megabytes<<20, wire.LongestBodyBytes, path)
	}
}

// The service reads the addresses of its machine through netlink, and refuses every public address without them.
func TestShippedUnitLetsTheServiceReadItsAddresses(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", "systemd", "holdpoint.service"))
	require.NoError(t, err)
	_, families, restricts := strings.Cut(string(text), "\nRestrictAddressFamilies=")
	require.True(t, restricts)
	families, _, _ = strings.Cut(families, "\n")
	require.ElementsMatch(t, []string{"AF_INET", "AF_INET6", "AF_UNIX", "AF_NETLINK"}, strings.Fields(families))
}

// A start without its database fails within the second, and one that migrates may take long: systemd must neither give up the
// former nor end the latter.
func TestShippedUnitStartsUntilItsDatabaseIsThere(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", "systemd", "holdpoint.service"))
	require.NoError(t, err)
	unit, rest, found := strings.Cut(string(text), "\n[Service]\n")
	require.True(t, found)
	require.Contains(t, unit, "\nStartLimitIntervalSec=0\n", "of the section Unit")
	service, _, found := strings.Cut(rest, "\n[Install]\n")
	require.True(t, found)
	for _, setting := range []string{"Restart=on-failure", "TimeoutStartSec=infinity"} {
		require.Contains(t, "\n"+service, "\n"+setting+"\n")
	}
}

// A worker that continues after a restore may have the same fence as the next holder of its run, and a token that
// was revoked after the backup works again.
func TestRestoresStopTheWorkersAndRevokeAgain(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/back-up.md")
	require.NoError(t, err)
	for _, engine := range []string{"SQLite", "Postgres"} {
		_, section, found := strings.Cut(string(text), "\n## "+engine+"\n")
		require.True(t, found, engine)
		section, _, _ = strings.Cut(section, "\n## ")
		_, steps, found := strings.Cut(section, "To restore")
		require.True(t, found, engine)
		last := 0
		for _, step := range []string{"stop", "workers", "[revoke again](#what-a-restored-database-lacks)", "start the", "then the workers"} {
			at := strings.Index(steps[last:], step)
			require.GreaterOrEqual(t, at, 0, "%s: %s", engine, step)
			last += at
		}
	}
}

// Kubernetes writes the arguments of exec into its audit log, so the commands there name no password.
func TestShippedManifestsGiveThePasswordApartFromTheURL(t *testing.T) {
	t.Parallel()
	commands, err := os.ReadFile(filepath.Join("..", "..", "deploy", "kubernetes", "kustomization.yaml"))
	require.NoError(t, err)
	urls := regexp.MustCompile(`postgres://\S+`).FindAllString(string(commands), -1)
	require.Len(t, urls, 2)
	for _, found := range urls {
		database, err := url.Parse(strings.Trim(found, "'"))
		require.NoError(t, err)
		_, has := database.User.Password()
		require.False(t, has, found)
	}
	manifest, err := os.ReadFile(filepath.Join("..", "..", "deploy", "kubernetes", "deployment.yaml"))
	require.NoError(t, err)
	require.Contains(t, string(manifest), "- name: PGPASSWORD\n")
}

// Connections still arrive while a pod's endpoint is removed, and a service that was told to stop refuses them.
func TestShippedManifestServesUntilItsEndpointIsRemoved(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", "kubernetes", "deployment.yaml"))
	require.NoError(t, err)
	seconds := func(pattern string) int {
		t.Helper()
		found := regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1)
		require.Len(t, found, 1, pattern)
		number, err := strconv.Atoi(found[0][1])
		require.NoError(t, err)
		return number
	}
	// After the default of --shutdown-timeout, the database has 2 s to close.
	const stopping = 30 + 2
	sleep := seconds(`preStop: \{sleep: \{seconds: (\d+)\}\}`)
	require.Positive(t, sleep)
	require.Less(t, sleep+stopping, seconds(`terminationGracePeriodSeconds: (\d+)`))
}
