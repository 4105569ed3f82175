package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// startsGoroutine matches a line that starts a goroutine, by itself or through an errgroup.
var startsGoroutine = regexp.MustCompile(`(?m)^\s*go (func\b|[\w.]+\()|\berrgroup\.|\.Go\(func`)

// takenOut finds the test in a line that takes it out, or a part of it.
var takenOut = regexp.MustCompile(`^[-~] (\w+)`)

// The race detector sees only what CI runs under it.
func TestPackagesThatStartGoroutinesRunUnderTheRaceDetector(t *testing.T) {
	t.Parallel()

	text, err := os.ReadFile(filepath.Join(root(t), ".ci", "concurrent"))
	require.NoError(t, err)
	var underRace []string
	for line := range strings.Lines(string(text)) {
		if out := takenOut.FindStringSubmatch(line); out != nil {
			requireTest(t, underRace[len(underRace)-1], out[1])
		}
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "./"); ok {
			require.DirExists(t, filepath.Join(root(t), name))
			underRace = append(underRace, name)
		}
	}

	elsewhere := regexp.MustCompile(`^(test|bench|examples)(/|$)|/postgrestest$`)
	for name := range packages(t) {
		if elsewhere.MatchString(name) || slices.Contains(underRace, name) {
			continue
		}
		files, err := filepath.Glob(filepath.Join(root(t), name, "*.go"))
		require.NoError(t, err)
		tested := slices.ContainsFunc(files, func(file string) bool { return strings.HasSuffix(file, "_test.go") })
		for _, file := range files {
			if !tested || strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			require.NotRegexp(t, startsGoroutine, string(text), "%s starts a goroutine; add ./%s to .ci/concurrent", file, name)
		}
	}
}

// requireTest requires that a package has a test.
func requireTest(t *testing.T, name, test string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root(t), name, "*_test.go"))
	require.NoError(t, err)
	require.True(t, slices.ContainsFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		return strings.Contains(string(text), "func "+test+"(")
	}), "%s has no %s, which .ci/concurrent takes out", name, test)
}
