//go:build unix && faults

package powercut

import (
	"database/sql"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/holdpoint/holdpoint/test/rig"
)

// Environment variables of these tests.
const (
	// roundsVariable says how often the service is killed, and how many power cuts there
	// are.
	roundsVariable = "HOLDPOINT_POWERCUT_ROUNDS"
	// seedVariable repeats the choices of an earlier run. The timing still depends on the
	// machine.
	seedVariable = "HOLDPOINT_POWERCUT_SEED"
)

const defaultRounds = 10

func TestMain(m *testing.M) { rig.Main(m) }

func rounds(t *testing.T) int {
	t.Helper()
	return rig.EnvInt(t, roundsVariable, defaultRounds)
}

// chance returns the random choices of a test and logs how to repeat them.
func chance(t *testing.T) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv(seedVariable); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err, seedVariable)
	}
	t.Logf("%s=%d", seedVariable, seed)
	name := fnv.New64()
	fmt.Fprint(name, t.Name())
	return rand.New(rand.NewPCG(seed, name.Sum64()))
}

// database is an SQLite file.
type database string

func newDatabase(t *testing.T) database {
	t.Helper()
	return database(filepath.Join(t.TempDir(), "holdpoint.db"))
}

func (d database) url() string  { return "sqlite:" + string(d) }
func (d database) path() string { return string(d) }

// wal is the path of the log that SQLite writes before the file itself.
func (d database) wal() string { return string(d) + "-wal" }

// files are what of a database is on the disk.
type files struct{ main, wal []byte }

func (d database) read(t *testing.T) files {
	t.Helper()
	var f files
	var err error
	f.main, err = os.ReadFile(d.path())
	require.NoError(t, err)
	f.wal, err = os.ReadFile(d.wal())
	if !os.IsNotExist(err) {
		require.NoError(t, err)
	}
	return f
}

// restore makes a database of files, as a machine finds it after a start.
func (f files) restore(t *testing.T) database {
	t.Helper()
	d := newDatabase(t)
	require.NoError(t, os.WriteFile(d.path(), f.main, 0o600))
	if f.wal != nil {
		require.NoError(t, os.WriteFile(d.wal(), f.wal, 0o600))
	}
	return d
}

// integrity is what SQLite finds wrong with files, "ok" when nothing. They are looked
// at in a copy, so that it is the service that has to recover the original.
func (f files) integrity(t *testing.T) string {
	t.Helper()
	location := url.URL{Scheme: "file", Path: f.restore(t).path()}
	db, err := sql.Open("sqlite", location.String())
	require.NoError(t, err)
	defer db.Close()
	var found string
	if err := db.QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&found); err != nil {
		return err.Error()
	}
	return found
}

// pass lets a random time pass: when something happens is what these tests try out.
func pass(random *rand.Rand, least, most time.Duration) {
	time.Sleep(least + time.Duration(random.Int64N(int64(most-least))))
}
