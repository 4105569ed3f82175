package faces

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(postgrestest.Wrap(m)) }
