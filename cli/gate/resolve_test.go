package gate

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The script of an interpreter is compared before it runs, whichever options are in front of it. A
// file that may be an option's value is compared, and does not end the search.
func TestScriptsOf(t *testing.T) {
	t.Parallel()
	cwd := t.TempDir()
	for _, name := range []string{"run", "main.js", "trace.js", "pipefail", "php.ini", "deno.json", "task", "data", "-x", "-", "extglob"} {
		require.NoError(t, os.WriteFile(filepath.Join(cwd, name), []byte("x"), 0o600))
	}
	for _, name := range []string{"tool", "other", "python3", "env"} {
		require.NoError(t, os.WriteFile(filepath.Join(cwd, name), []byte("x"), 0o700)) //nolint:gosec // the program is executable
	}
	for command, scripts := range map[string]string{
		"sudo ./tool data":               "tool",
		"env A=1 B=./other ./tool":       "tool",
		"timeout -k 5 1m ./tool ./other": "tool",
		"sudo -u root env A=1 ./tool":    "tool",
		"sudo ./env ./tool":              "env tool",
		"sudo -n ./env A=1 sh run":       "env run",
		"sudo ./env ls":                  "env",
		"nice -n 5 nohup ./tool":         "tool",
		"taskset 0x3 ./tool":             "tool",
		"sudo -n ./tool ./other":         "tool other",
		"sudo -- ./tool ./other":         "tool",
		"time -o ./other ./tool":         "other tool",
		"sudo ./tool node main.js":       "tool",
		"sudo -n ./tool sh run":          "tool run",
		"sudo -u node ./tool":            "tool",
		"sudo -n ./python3 -u run data":  "python3 run",
		"sudo cat ./tool":                "",
		"sudo ./data":                    "",
		"sudo tool":                      "",
		"cat ./tool":                     "",

		"sh run":                   "run",
		"sh -e run":                "run",
		"bash -ex run":             "run",
		"bash -euo errexit run":    "run",
		"bash -x -e -- run":        "run",
		"sh -- -x data":            "-x",
		"/bin/bash -e ./run a":     "run",
		"bash -e run data":         "run",
		"python3.12 -E run":        "run",
		"python3 -u run data":      "run",
		"python -Xtracemalloc run": "run",
		"python -Werror -u run":    "run",
		"perl -w -Mstrict run":     "run",
		"perl -Mre run":            "run",
		"perl -d:Trepan run":       "run",
		"ruby -rset run":           "run",
		"sudo -u root bash -e run": "run",
		"env A=1 python3 run":      "run",
		"timeout 5 sh run":         "run",
		"node --title=run main.js": "main.js",

		"bash -euo pipefail run":                  "pipefail run",
		"bash +o pipefail run":                    "pipefail run",
		"bun --config data run main.js":           "data run main.js",
		"bash --rcfile data run":                  "data run",
		"node -r ./trace.js main.js":              "trace.js main.js",
		"node --inspect main.js data":             "main.js data",
		"php -c php.ini -d a=1 run":               "php.ini run",
		"deno run --config deno.json main.js run": "run deno.json main.js",
		"deno task run":                           "task run",
		"deno main.js data":                       "main.js",
		"bun run data":                            "run data",
		"busybox sh run":                          "run",
		"python3 -W run":                          "run",

		"sh - run":                           "run",
		"bash -x - run data":                 "run",
		"sh - -x data":                       "-x",
		"sh -- - data":                       "-",
		"python3 -W -c run":                  "run",
		"bash --rcfile -c run":               "run",
		"bash --rcfile -x run data":          "-x run",
		"bash --rcfile -- -x run data":       "-x run",
		"bash --rcfile - -x run data":        "- -x run",
		"bash -rcfile data run":              "data run",
		"bash -norc run data":                "run",
		"bash --noprofile --norc -c run":     "",
		"bash --login -c run":                "",
		"bash -oO pipefail extglob run data": "pipefail extglob run",
		"bash +oO pipefail extglob run data": "pipefail extglob run",
		"bash +x run data":                   "run",
		"sh +c run data":                     "run data",
		"zsh -onoclobber run data":           "run",
		"zsh -o pipefail run data":           "pipefail run",
		"ruby -I -e run":                     "run",
		"ruby -Fe run data":                  "run",
		"lua -e x=1 run data":                "run",
		"lua -ex=1 run data":                 "run",
		"php -B x=1 -F run":                  "run",
		"busybox sh +o pipefail run":         "pipefail run",

		"deno run --allow-net main.js data":      "run main.js",
		"deno run --no-check main.js data":       "run main.js",
		"deno run --deny-env -A main.js data":    "run main.js",
		"Rscript --vanilla --no-echo run data":   "run",
		"node --no-warnings main.js data":        "main.js",
		"node --enable-source-maps main.js data": "main.js",
		"node --no-warnings -e main.js data":     "",
		"pwsh -File run data":                    "run",
		"pwsh -nop -f run -x data":               "run",
		"pwsh -ExecutionPolicy x -fil run -c":    "run",
		"pwsh -ExecutionPolicy -File run data":   "run data",
		"php -f run data":                        "run",
		"php -qfrun data":                        "run",
		"php -qf run -- data":                    "run",
		"php -c php.ini -f run -r data":          "php.ini run",

		"php -ddisplay_errors=1 run":       "run",
		"ruby -W:no-deprecated run":        "run",
		"ruby -Eutf-8 run":                 "run",
		"ruby -i.before run":               "run",
		"lua -lsocket run":                 "run",
		"pwsh -NoProfile -File run":        "run",
		"pwsh -ExecutionPolicy x run":      "run",
		"pwsh -ConfigurationName x -f run": "run",
		"pwsh -NoProfile -Command run":     "",
		"pwsh -c run":                      "",
		"pwsh -Comm run":                   "",
		"pwsh --command run":               "",
		"pwsh -CommandWithArgs run":        "",
		"pwsh -cwa run":                    "",
		"pwsh -NonInteractive -enc run":    "",
		"pwsh -e run":                      "",
		"pwsh -ec run":                     "",
		"osascript -lJavaScript -s se run": "run",
		"node -r ./trace.js -e main.js":    "trace.js",
		"sh -c run":                        "",
		"bash -ec run":                     "",
		"bash -lc run":                     "",
		"python -c run":                    "",
		"python -Ec run":                   "",
		"perl -pe run run":                 "",
		"perl -pi -e x=1 data":             "",
		"perl -0 -ne x=1 data":             "",
		"ruby -i -pe x=1 data":             "",
		"busybox sh -e -c x=1 data":        "",
		"perl -E run":                      "",
		"ruby -ne run":                     "",
		"node -e run":                      "",
		"php -r run":                       "",
		"lua -e run":                       "run",
		"sudo sh -c run":                   "",
		"cat run":                          "",
		"grep sh run":                      "",
		"sh missing":                       "",
	} {
		var want []string
		for _, name := range strings.Fields(scripts) {
			want = append(want, filepath.Join(cwd, name))
		}
		require.Equal(t, want, scriptsOf(strings.Fields(command), cwd, ""), command)
	}
}

// A program that is gone is reported as a change, even if the arguments were edited.
func TestEditedArgumentsOfAProgramThatHasGone(t *testing.T) {
	t.Parallel()
	cwd := t.TempDir()
	for _, name := range []string{"sh", "run"} {
		require.NoError(t, os.WriteFile(filepath.Join(cwd, name), []byte("true"), 0o700)) //nolint:gosec // the program is executable
	}
	shown := []string{filepath.Join(cwd, "sh"), "run"}
	asked, err := resolve(shown, cwd)
	require.NoError(t, err)
	require.NotNil(t, asked.Script)
	require.NoError(t, os.Remove(shown[0]))
	_, err = bind(plan{argv: append(slices.Clone(shown), "x"), shown: shown, cwd: cwd, bound: &asked, edited: true, sameCwd: true})
	require.ErrorAs(t, err, new(*changedError))
	require.ErrorContains(t, err, "sh has gone")
}
