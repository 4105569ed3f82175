// Command streams measures what following costs: the memory of idle subscribers and
// the time in which one event reaches all of them. It compares with a bare net/http server
// that does only this, alternating in the same run. Each server is its own process.
//
//	go build -o holdpoint ./cmd/holdpoint
//	go run ./test/load/streams -program ./holdpoint
//	go run ./test/load/streams -program ./holdpoint -replicas postgres://…
//
// It needs an open file for each subscriber and some more (ulimit -n). It is a tool for
// docs/benchmarks.md and no test: it asserts no time.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "streams:", err)
		os.Exit(1) //nolint:forbidigo // This is main.
	}
}

// options configure the measurements.
type options struct {
	program     string
	replicas    string
	subscribers int
	together    int
	rounds      int
	settle      time.Duration
	out         io.Writer
}

// perSession is the number of subscribers of each session, except the one with many.
const perSession = 5

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("streams", flag.ContinueOnError)
	o := options{out: out}
	flags.StringVar(&o.program, "program", "holdpoint", "the program to measure")
	flags.StringVar(&o.replicas, "replicas", "", "a Postgres database; measures two replicas on it, and nothing else")
	flags.IntVar(&o.subscribers, "subscribers", 10_000, "how many follow in all")
	flags.IntVar(&o.together, "together", 2_000, "how many of them follow one session")
	flags.IntVar(&o.rounds, "rounds", 40, "how many events are timed")
	flags.DurationVar(&o.settle, "settle", 130*time.Second, "how long they are idle before the memory is read; Go collects after two minutes")
	bare := flags.Bool("bare", false, "be the bare server; for this program's own use")
	address := flags.String("read", "", "follow the server at this address; for this program's own use")
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch {
	case *bare:
		return serveBare(ctx, out)
	case *address != "":
		return read(ctx, *address, os.Stdin, out)
	case o.replicas != "":
		return o.acrossReplicas(ctx)
	}
	if err := o.beside(ctx, "sessions", o.together, sessionPlan(o)); err != nil {
		return err
	}
	if err := o.beside(ctx, "the inbox", o.subscribers, inboxPlan(o)); err != nil {
		return err
	}
	return o.withOneSlow(ctx)
}

// plan defines the paths of the subscribers, and the event.
type plan struct {
	// paths returns the path of each subscriber. The first ones get the event.
	paths func() []string
	// prepare creates the followed rows in holdpoint, and send creates the event.
	prepare, send func(ctx context.Context, server *server) error
}

// Compare holdpoint and the bare server, alternating between them.
func (o *options) beside(ctx context.Context, name string, reached int, p plan) error {
	holdpoint, err := startHoldpoint(ctx, o.program, "")
	if err != nil {
		return err
	}
	defer holdpoint.stop()
	bare, err := startBare(ctx)
	if err != nil {
		return err
	}
	defer bare.stop()
	if err := p.prepare(ctx, holdpoint); err != nil {
		return err
	}
	both := []*server{holdpoint, bare}
	for _, one := range both {
		before, err := one.memory()
		if err != nil {
			return err
		}
		if err := one.subscribe(ctx, p.paths()); err != nil {
			return fmt.Errorf("%s: %w", one.name, err)
		}
		one.before = before
	}
	select {
	case <-time.After(o.settle):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	for _, one := range both {
		after, err := one.memory()
		if err != nil {
			return err
		}
		one.each = float64(after-one.before) / float64(o.subscribers)
	}
	took := map[*server][]time.Duration{}
	for range o.rounds {
		for _, one := range both {
			send := p.send
			if one == bare {
				send = sendBare
			}
			time.Sleep(50 * time.Millisecond)
			reach, err := one.reach(ctx, reached, send)
			if err != nil {
				return fmt.Errorf("%s: %w", one.name, err)
			}
			took[one] = append(took[one], reach)
		}
	}
	fmt.Fprintf(o.out, "%s: %d idle subscribers, one event to %d of them, %d times\n", name, o.subscribers, reached, o.rounds)
	for _, one := range both {
		fmt.Fprintf(o.out, "  %-10s %5.1f kB each   %s\n", one.name, one.each/1000, spread(took[one]))
	}
	fmt.Fprintf(o.out, "  ratio      %5.2f           p50 %.2f\n", holdpoint.each/bare.each,
		float64(at(took[holdpoint], .5))/float64(at(took[bare], .5)))
	return nil
}

func at(took []time.Duration, share float64) time.Duration {
	sorted := slices.Sorted(slices.Values(took))
	return sorted[min(int(share*float64(len(sorted))), len(sorted)-1)]
}

func spread(took []time.Duration) string {
	round := func(share float64) time.Duration { return at(took, share).Round(10 * time.Microsecond) }
	return fmt.Sprintf("p50 %v, p95 %v, p99 %v, longest %v of %d", round(.5), round(.95), round(.99), round(1), len(took))
}
