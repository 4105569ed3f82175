package rig

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/internal/testcache"
)

// KeepNetwork keeps the tests of all processes from changing this machine's addresses until the end
// of the test, because browsers abort loading if they change (ERR_NETWORK_CHANGED).
func KeepNetwork(tb testing.TB) {
	tb.Helper()
	lockNetwork(tb, testcache.Share)
}

// changeNetwork waits until no test needs the addresses of this machine as they are, and keeps those
// that do waiting until the end of the test.
func changeNetwork(tb testing.TB) {
	tb.Helper()
	lockNetwork(tb, testcache.Lock)
}

func lockNetwork(tb testing.TB, lock func(path string) (unlock func(), err error)) {
	tb.Helper()
	directory, err := testcache.Directory()
	require.NoError(tb, err)
	unlock, err := lock(filepath.Join(directory, "network.lock"))
	require.NoError(tb, err)
	tb.Cleanup(unlock)
}
