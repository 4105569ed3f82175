package database

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/store"
	"github.com/holdpoint/holdpoint/store/sqlite"
)

// Backup copies a SQLite database.
type Backup struct {
	Flag
	console.Format
	File string `arg:"" help:"Path of the copy; the file must not exist."`
}

// Help returns the text below the flags in --help.
func (c *Backup) Help() string {
	return "The copy is consistent, even while the service is running. It only appears after it was opened and read completely."
}

// Run copies the file.
func (c *Backup) Run(ctx context.Context, terminal *console.Console) error {
	if store.CheckURL(c.File) == nil {
		return console.Usage("FILE is the path of the copy, not a database URL")
	}
	for _, left := range sqlite.UnfinishedBackups(c.File) {
		terminal.Say("%s is from a backup that was killed or is still running: delete it if none is running", console.Printable(left, false))
	}
	ctx, stop := console.UntilSignal(ctx, syscall.SIGHUP)
	defer stop()
	bytes, err := store.Backup(ctx, c.Database, c.File)
	ended, stopped := errors.AsType[console.SignalError](context.Cause(ctx))
	switch {
	case stopped && err != nil:
		return console.Failed(console.SignalCode(ended.Signal), "stopped; there is no copy")
	case errors.Is(err, store.ErrNoBackup):
		return console.Usage("--database: %w", err)
	case errors.Is(err, fs.ErrExist):
		return console.Usage("%w", err)
	case err != nil:
		return c.explain(err)
	}
	if c.JSON {
		return console.PrintJSON(terminal.Stdout, struct {
			File  string `json:"file"`
			Bytes int64  `json:"bytes"`
		}{c.File, bytes})
	}
	fmt.Fprintf(terminal.Stdout, "wrote %s, %d bytes, and verified it\n", c.File, bytes)
	return nil
}
