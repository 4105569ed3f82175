package demo

import (
	"context"
	"io"
	"path/filepath"

	"github.com/alecthomas/kong"
	"golang.org/x/sync/errgroup"

	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/cli/serve"
	"github.com/holdpoint/holdpoint/examples/demo"
)

// ServiceCommand is the second process of the demo: the service and both agents.
type ServiceCommand struct {
	Directory string `required:"" help:"Directory of the demo."`
	Listen    string `default:"127.0.0.1:0" help:"Address to listen on."`
}

// Run serves and works until stdin ends, which means that the demo has ended.
func (c *ServiceCommand) Run(ctx context.Context, terminal *console.Console) error {
	var service serve.Command
	parser, err := kong.New(&service, serve.Vars())
	if err != nil {
		return err
	}
	// The database is relative to the process's directory, so any name of the directory
	// works. No flag is read from the environment.
	if _, err := parser.Parse([]string{
		"--database=sqlite:" + demo.Database, "--listen=" + c.Listen, "--listen-file=" + filepath.Join(c.Directory, demo.URLFile),
		"--dialects=none", "--shutdown-timeout=1s", "--log-level=ERROR",
	}); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, terminal.Stdin)
		cancel()
	}()
	quiet := *terminal
	quiet.Stdout = io.Discard
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer cancel() // the agents need the service
		return service.Run(ctx, &quiet, func() (*serve.Command, error) { return &service, nil })
	})
	group.Go(func() error { return demo.Work(ctx, c.Directory) })
	return group.Wait()
}
