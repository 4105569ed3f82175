package runs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs"
)

// Every command says what it takes to give it, but for that of a loop alone.
func TestEveryCommandHasDemands(t *testing.T) {
	t.Parallel()
	known, err := os.ReadFile("demands.go")
	require.NoError(t, err)
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	decides := regexp.MustCompile(`func \(c \*([A-Z][A-Za-z]*)\) decide\(w \*workingCopy\)`)
	found := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, match := range decides.FindAllStringSubmatch(string(text), -1) {
			found++
			listed := regexp.MustCompile(`\*` + match[1] + `\b`).Match(known)
			require.Equal(t, !slices.Contains([]string{"DeliverAnswer", "DrainSession", "CancelAbandoned", "FanOutDeliveries"}, match[1]), listed, "what does %s take?", match[1])
		}
	}
	require.Greater(t, found, 25)
	for _, action := range runs.Demands(&runs.DeliverAnswer{}) {
		require.False(t, slices.ContainsFunc(auth.Roles, func(role api.Role) bool { return auth.RoleMay(role, action) }))
	}
}
