package handover

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
	"github.com/holdpoint/holdpoint/test/rig"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(withPrograms{postgrestest.Wrap(m)}) }

// withPrograms removes what the tests built.
type withPrograms struct{ *postgrestest.Main }

func (m withPrograms) Run() int {
	defer rig.RemovePrograms()
	return m.Main.Run()
}
