package sqlite

import (
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/store/storetest"
)

func TestRulesAreLoadedAsTheyAreNeeded(t *testing.T) {
	t.Parallel()
	storetest.RequireRuleLoads(t, &engine{store: openInMemory(t, Options{})})
}

func TestTheVersionOfRulesGrows(t *testing.T) {
	t.Parallel()
	storetest.RequireRuleVersions(t, &engine{store: openInMemory(t, Options{})})
}

func TestChangesOfRulesAreKnownOrAllAreRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "holdpoint.db")
	s, err := Open(t.Context(), path, Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	shell, err := sql.Open("sqlite", fileURI(path, "_busy_timeout=5000"))
	require.NoError(t, err)
	defer func() { require.NoError(t, shell.Close()) }()
	storetest.RequireRuleChanges(t, s, shell)
}
