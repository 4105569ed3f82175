package mcptools_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// They wait more than they compute. -parallel has precedence.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err) // the flag is one of package testing
	}
	goleak.VerifyTestMain(m)
}
