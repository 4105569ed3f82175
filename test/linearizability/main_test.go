//go:build unix

package linearizability

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/holdpoint/holdpoint/test/rig"
)

func TestMain(m *testing.M) {
	// toxiproxy forgets what it delays on a connection that ends meanwhile.
	goleak.VerifyTestMain(withPrograms{m}, goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2/toxics.(*ToxicStub).Run"))
}

// withPrograms removes the programs after the tests.
type withPrograms struct{ *testing.M }

func (m withPrograms) Run() int {
	defer rig.RemovePrograms()
	return m.M.Run()
}
