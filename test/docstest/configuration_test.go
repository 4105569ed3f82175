package docstest

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/cli"
	"github.com/holdpoint/holdpoint/notify/channels"
	"github.com/holdpoint/holdpoint/webhooks/egress"
)

// TestConfigurationsAreRead: the service takes the configurations of its pages and the channels and calendars
// of theirs, with files at the paths that they name.
func TestConfigurationsAreRead(t *testing.T) {
	t.Parallel()
	secretFile := regexp.MustCompile(`(?:(?:password|app_token|bot_token)_file: |(?:token|hook|key): )([a-z-]+)\}?\n?`)
	beginning := map[string]string{"slack-app-token": "xapp-", "slack-bot-token": "xoxb-"}
	read, settings := 0, ""
	directory := t.TempDir()
	file := filepath.Join(directory, "file")
	for _, b := range blocksOf(t) {
		text := b.text
		switch {
		case (b.page == "docs/configuration.md" || b.page == "docs/start-operate.md") && b.language == "json":
			read++
			text = strings.ReplaceAll(text, "/etc/holdpoint", directory)
			writeCertificate(t, directory)
			require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
			var stdout, stderr bytes.Buffer
			nothing := func(string) (string, bool) { return "", false }
			code := cli.Run(t.Context(), []string{"config", "print", "--config", file}, nothing, strings.NewReader(""), &stdout, &stderr)
			require.Zero(t, code, "%v: %s", b, &stderr)
			require.Contains(t, stdout.String(), "90d")
		case b.language == "yaml" && !isManifest(b) && slices.Contains([]string{"docs/notifications.md", "docs/email.md", "docs/http-messages.md", slackPage}, b.page):
			read++
			for _, match := range secretFile.FindAllStringSubmatch(text, -1) {
				require.NoError(t, os.WriteFile(filepath.Join(directory, match[1]), []byte(beginning[match[1]]+"https://chat.example/hook"), 0o600))
			}
			require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
			if !strings.HasPrefix(strings.TrimSpace(text), "channels:") {
				settings += text // it may name what stands in another block
				continue
			}
			found, err := channels.Load(file, egress.New(egress.Options{}))
			require.NoError(t, err, "%v", b)
			require.NotEmpty(t, found)
		}
	}
	require.Greater(t, read, 4)
	require.NoError(t, os.WriteFile(file, []byte(settings), 0o600))
	found, _, err := channels.Escalations(file, egress.New(egress.Options{}))
	require.NoError(t, err, settings)
	require.NotEmpty(t, found.Calendars)
	require.NotEmpty(t, found.OnCall)
	require.NotEmpty(t, found.Named)
}

// writeCertificate writes a certificate and its key as cert.pem and key.pem.
func writeCertificate(t *testing.T, directory string) {
	t.Helper()
	server := httptest.NewTLSServer(nil)
	server.Close()
	certificate := server.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	require.NoError(t, err)
	for name, one := range map[string]*pem.Block{
		"cert.pem": {Type: "CERTIFICATE", Bytes: certificate.Certificate[0]}, "key.pem": {Type: "PRIVATE KEY", Bytes: key},
	} {
		require.NoError(t, os.WriteFile(filepath.Join(directory, name), pem.EncodeToMemory(one), 0o600))
	}
}
