//go:build unix

package clients

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
	"github.com/holdpoint/holdpoint/test/rig"
)

func TestMain(m *testing.M) {
	// toxiproxy forgets what it delays on a connection that ends meanwhile.
	goleak.VerifyTestMain(withPrograms{postgrestest.Wrap(m)}, goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2/toxics.(*ToxicStub).Run"))
}

// withPrograms removes what the tests built.
type withPrograms struct{ *postgrestest.Main }

func (m withPrograms) Run() int {
	defer rig.RemovePrograms()
	defer removeNode()
	return m.Main.Run()
}
