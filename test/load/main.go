// Command load measures a running service over HTTP through the Go client: how many
// complete waits it handles per second, and how long a decision takes to reach the waiting
// worker. For comparison, the same run measures as many empty calls of a bare net/http
// server, which is the limit of the machine.
//
//	holdpoint serve --database postgres://… &
//	go run ./test/load -server http://127.0.0.1:4000 -clients 1,8,64 -for 10s
//
// It is a tool for docs/benchmarks.md and no test: it asserts no time.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"

	"github.com/holdpoint/holdpoint/client"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1) //nolint:forbidigo // This is main.
	}
}

func run(ctx context.Context, args []string, out *os.File) error {
	flags := flag.NewFlagSet("load", flag.ContinueOnError)
	server := flags.String("server", "http://127.0.0.1:4000", "the service to measure")
	clients := flags.String("clients", "1,8,64", "how many clients at once, one measurement each")
	duration := flags.Duration("for", 5*time.Second, "how long one measurement takes")
	deliveries := flags.Int("deliveries", 500, "how many decisions are timed at rest, 0 for none")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var counts []int
	for text := range strings.SplitSeq(*clients, ",") {
		count, err := strconv.Atoi(text)
		if err != nil || count < 1 {
			return fmt.Errorf("-clients %q: %q is not a count", *clients, text)
		}
		counts = append(counts, count)
	}
	service, err := client.New(*server)
	if err != nil {
		return err
	}
	defer service.Close()
	if err := service.Ready(ctx); err != nil {
		return fmt.Errorf("%s is not ready: %w", *server, err)
	}
	bare, err := startBare(ctx)
	if err != nil {
		return err
	}
	defer bare.close()

	for _, count := range counts {
		cycles, err := repeat(ctx, count, *duration, func(ctx context.Context) error { return cycle(ctx, service) })
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%3d clients: %6.0f waits/s  %s\n", count, cycles.perSecond(), cycles.spread())
		empty, err := repeat(ctx, count, *duration, bare.cycle)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%3d clients: %6.0f times %d empty calls/s of a bare server\n", count, empty.perSecond(), callsPerCycle)
	}
	if *deliveries == 0 {
		return nil
	}
	delivered, err := deliver(ctx, service, *deliveries)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "decision accepted, worker has it, at rest: %s\n", delivered.spread())
	return nil
}
