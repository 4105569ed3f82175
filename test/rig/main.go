package rig

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"

	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
)

// Patience is the time after which a step counts as hung.
const Patience = 60 * time.Second

// ManyAtOnce lets eight tests of a package run at once, because they wait more than they compute. TestMain calls it first;
// -parallel has precedence.
func ManyAtOnce() {
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err) // the flag is one of package testing
	}
}

// Main is called by TestMain of a package that uses the rig. It runs the tests, stops their
// Postgres, removes the programs that they built, calls the given functions, and fails if a
// goroutine remains.
func Main(m *testing.M, after ...func()) {
	goleak.VerifyTestMain(runThen{postgrestest.Wrap(m), append(after, removePrograms)},
		// toxiproxy leaks a goroutine if a delayed connection ends.
		goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2/toxics.(*ToxicStub).Run"))
}

type runThen struct {
	*postgrestest.Main
	after []func()
}

// Run implements goleak.TestingM.
func (r runThen) Run() int {
	defer func() {
		for _, do := range r.after {
			do()
		}
	}()
	return r.Main.Run()
}

// Need returns the path of the first of these programs that this machine has. When it has none
// the test is skipped with one line that says so; when CI is set the test fails.
func Need(tb testing.TB, programs ...string) (path string) {
	tb.Helper()
	for _, name := range programs {
		if found, err := exec.LookPath(name); err == nil {
			return found
		}
	}
	Missing(tb, strings.Join(programs, " or "))
	return ""
}

// Missing skips a test because this machine lacks something; when CI is set it fails the test.
func Missing(tb testing.TB, what string) {
	tb.Helper()
	if os.Getenv("CI") != "" {
		tb.Fatal("CI must have everything, and this machine lacks " + what)
	}
	tb.Skip("this machine lacks " + what)
}

// Soon returns a context that ends with the test, or after [Patience].
func Soon(tb testing.TB) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), Patience)
	tb.Cleanup(cancel)
	return ctx
}

// Await polls on the test's goroutine until the condition holds. It fails the test after
// [Patience].
func Await(tb testing.TB, condition func() bool, message ...any) {
	tb.Helper()
	AwaitWithin(tb, Patience, condition, message...)
}

// AwaitWithin is [Await] for conditions that take longer.
func AwaitWithin(tb testing.TB, patience time.Duration, condition func() bool, message ...any) {
	tb.Helper()
	for deadline := time.Now().Add(patience); !condition(); {
		if time.Now().After(deadline) {
			require.FailNow(tb, "the condition never holds", message...)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// EnvInt returns the number in an environment variable, or the default when it is not set. It
// fails the test when the variable holds no positive number.
func EnvInt(tb testing.TB, variable string, otherwise int) int {
	tb.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	number, err := strconv.Atoi(text)
	require.NoError(tb, err, variable)
	require.Positive(tb, number, variable)
	return number
}

// Concurrently calls do with the numbers up to count, 256 at once. It returns the first error, after
// which the context of the calls is cancelled.
func Concurrently(ctx context.Context, count int, do func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(256)
	for i := range count {
		group.Go(func() error { return do(ctx, i) })
	}
	return group.Wait()
}
