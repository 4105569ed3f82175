//go:build unix

package expiry

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
	"github.com/holdpoint/holdpoint/test/rig"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(withProgram{postgrestest.Wrap(m)}) }

// withProgram removes the program after the tests.
type withProgram struct{ *postgrestest.Main }

func (m withProgram) Run() int {
	code := m.Main.Run()
	rig.RemovePrograms()
	return code
}
