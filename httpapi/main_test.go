package httpapi_test

import (
	"flag"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
	"github.com/holdpoint/holdpoint/store/read"
)

func TestMain(m *testing.M) {
	read.Timeout = time.Minute
	// Many wait more than they compute. -parallel has precedence.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err) // the flag is one of package testing
	}
	goleak.VerifyTestMain(postgrestest.Wrap(m))
}
