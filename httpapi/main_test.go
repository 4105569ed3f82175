package httpapi_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
	"github.com/holdpoint/holdpoint/store/read"
)

func TestMain(m *testing.M) {
	read.Timeout = time.Minute
	goleak.VerifyTestMain(postgrestest.Wrap(m))
}
