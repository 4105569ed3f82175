//go:build unix && agents

package sdk

import (
	"crypto/x509"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/test/rig"
)

// TestAnAgentCallsWithItsCertificate types the commands of docs/security.md that call a service with a client certificate.
func TestAnAgentCallsWithItsCertificate(t *testing.T) {
	directory, root := t.TempDir(), newAuthority(t)
	write := func(name string, text []byte) {
		require.NoError(t, os.WriteFile(filepath.Join(directory, name), text, 0o600))
	}
	write("ca.pem", root.file())
	for name, usage := range map[string]x509.ExtKeyUsage{"coder": x509.ExtKeyUsageClientAuth, "service": x509.ExtKeyUsageServerAuth} {
		certificate, key := root.issue(t, name, usage)
		write(name+".pem", certificate)
		write(name+".key", key)
	}
	write("Makefile", []byte("deploy:\n\t@echo deployed\n"))
	require.NoError(t, os.Symlink(rig.Program(t), filepath.Join(directory, "holdpoint")))
	t.Setenv("PATH", directory+":"+os.Getenv("PATH"))
	address := freeAddress(t)
	t.Setenv("HOLDPOINT_DATABASE", "sqlite:"+filepath.Join(directory, "holdpoint.db"))
	said, err := run(directory, "holdpoint", "tokens", "create", "--name", "admin", "--role", "admin", "--database", os.Getenv("HOLDPOINT_DATABASE"))
	require.NoError(t, err)
	write("admin.token", []byte(regexp.MustCompile(`holdpoint_\w+`).FindString(said)))
	service := start(t, directory, "holdpoint", "serve", "--listen", address, "--tls-cert", "service.pem", "--tls-key", "service.key", "--client-ca", "ca.pem")
	rig.Await(t, func() bool { return strings.Contains(service.output.String(), address) }, "the service does not greet")

	shown := ""
	for _, block := range blocks(t, "docs/security.md", "sh") {
		if strings.Contains(block, "--client-cert") {
			shown = strings.ReplaceAll(block, "https://holdpoint.example:4000", "https://"+address)
		}
	}
	require.NotEmpty(t, shown)
	agent := start(t, directory, "bash", "-euo", "pipefail", "-c", shown)
	administer := func(words ...string) string {
		said, err := run(directory, "holdpoint", append(words, "--server", "https://"+address, "--ca", "ca.pem", "--token-file", "admin.token")...)
		require.NoError(t, err, "%s", service.output)
		return said
	}
	rig.Await(t, func() bool { return strings.Contains(administer("approvals", "list", "--json"), `"make"`) }, "it does not ask")
	administer("approvals", "allow-all", "--yes")
	<-agent.ended
	require.Zero(t, agent.command.ProcessState.ExitCode(), "%s", agent.output)
	require.Contains(t, agent.output.String(), `"principal":"agent:coder"`)
	require.Contains(t, agent.output.String(), "deployed")
	require.Contains(t, administer("tokens", "list"), "agent:coder")
}
