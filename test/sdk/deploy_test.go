//go:build unix && agents

package sdk

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/test/rig"
)

// systemctl stands in for the program of that name: it starts what a unit starts, with the environment that the unit gives, and
// returns once the service listens.
const systemctl = `#!/bin/bash
set -euo pipefail
case "$*" in
daemon-reload) ;;
"enable --now holdpoint")
	unit=/etc/systemd/system/holdpoint.service
	[ -s "$unit" ]
	mapfile -t environment < <(sed -n 's/^Environment=//p' "$unit")
	read -ra command < <(sed -n 's/^ExecStart=//p' "$unit")
	cd /var/lib/holdpoint
	env "${environment[@]}" "${command[@]}" >/var/lib/holdpoint.log 2>&1 </dev/null &
	until [ -S /run/holdpoint/holdpoint.sock ]; do kill -0 $!; sleep 0.05; done
	;;
*) exit 1 ;;
esac
`

// TestTheUnitIsInstalledAsThePageSays types the commands of docs/deploy.md for systemd, with folders of the test in place of the
// system's, and a systemctl that starts the service without the unit's restrictions.
func TestTheUnitIsInstalledAsThePageSays(t *testing.T) {
	directory, err := newProject() // not below a folder with the test's name: the name of a socket is short
	require.NoError(t, err)
	for _, folder := range []string{"usr/local/bin", "etc/systemd/system", "run/holdpoint", "var/lib/holdpoint", "clone/deploy/systemd"} {
		require.NoError(t, os.MkdirAll(filepath.Join(directory, folder), 0o700))
	}
	mapped := strings.NewReplacer("/usr/local/bin", directory+"/usr/local/bin", "/etc/", directory+"/etc/", "/run/holdpoint", directory+"/run/holdpoint",
		"/var/lib/holdpoint", directory+"/var/lib/holdpoint")
	unit, err := os.ReadFile(filepath.Join(repository(), "deploy/systemd/holdpoint.service"))
	require.NoError(t, err)
	clone := filepath.Join(directory, "clone")
	require.NoError(t, os.WriteFile(filepath.Join(clone, "deploy/systemd/holdpoint.service"), []byte(mapped.Replace(string(unit))), 0o600))
	require.NoError(t, os.Symlink(rig.Program(t), filepath.Join(clone, "holdpoint")))
	require.NoError(t, os.WriteFile(filepath.Join(directory, "usr/local/bin/systemctl"), []byte(mapped.Replace(systemctl)), 0o700))
	t.Setenv("PATH", filepath.Join(directory, "usr/local/bin")+":"+os.Getenv("PATH"))

	installed := start(t, clone, "bash", "-euo", "pipefail", "-c", mapped.Replace(blocks(t, "docs/deploy.md", "sh")[0]))
	<-installed.ended
	log, _ := os.ReadFile(filepath.Join(directory, "var/lib/holdpoint.log")) // there is none if the block failed before
	require.Zero(t, installed.command.ProcessState.ExitCode(), "%s\n%s", installed.output, log)
	t.Setenv("HOLDPOINT_TOKEN", regexp.MustCompile(`holdpoint_\w+`).FindString(installed.output.String()))
	me, err := run(clone, "holdpoint", "whoami", "--json", "--server", "unix:"+directory+"/run/holdpoint/holdpoint.sock")
	require.NoError(t, err, "%s", installed.output)
	require.Regexp(t, `"role": *"admin"`, me)
	for _, key := range []string{"secret-keys", "signing-key", "push-key"} {
		require.FileExists(t, filepath.Join(directory, "var/lib/holdpoint", key))
	}
}
