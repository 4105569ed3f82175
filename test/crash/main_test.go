package crash

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
	"github.com/holdpoint/holdpoint/test/rig"
)

func TestMain(m *testing.M) {
	if url := os.Getenv(workerVariable); url != "" {
		os.Exit(workerMain(url, os.Stdin, os.Stdout))
	}
	goleak.VerifyTestMain(withPrograms{postgrestest.Wrap(m)})
}

// withPrograms removes the programs after the tests.
type withPrograms struct{ *postgrestest.Main }

func (m withPrograms) Run() int {
	defer rig.RemovePrograms()
	return m.Main.Run()
}
