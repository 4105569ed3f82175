package agents

import (
	"cmp"
	"context"
	"flag"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/holdpoint/holdpoint/client"
)

// Run is the main function of an agent: it reads the flags -server and -directory and works
// for the agent id until a signal. Without -server it connects to HOLDPOINT_SERVER. It
// always uses the token in HOLDPOINT_TOKEN, if set. The handler is created for the
// directory.
func Run(agentID string, handler func(directory string) client.Handler) error {
	server := flag.String("server", cmp.Or(os.Getenv("HOLDPOINT_SERVER"), "http://127.0.0.1:4000"), "where holdpoint listens, as $HOLDPOINT_SERVER")
	directory := flag.String("directory", ".", "where the agent works")
	flag.Parse()
	work, err := filepath.Abs(*directory)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	options := []client.Option{}
	if token := os.Getenv("HOLDPOINT_TOKEN"); token != "" {
		options = append(options, client.WithToken(token))
	}
	c, err := client.New(*server, options...)
	if err != nil {
		return err
	}
	defer c.Close()
	worker, err := client.NewWorker(c, client.WorkerOptions{
		AgentIDs: []string{agentID}, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		return err
	}
	return worker.Run(ctx, handler(work))
}
