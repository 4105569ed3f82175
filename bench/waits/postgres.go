//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"

	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
)

// postgresServer is the server for all subjects. Each subject uses its own database.
type postgresServer struct {
	admin *url.URL
	// process and directory are set if this program started the server.
	process   *process
	directory string
	// given is the process of an existing server, 0 if it is on another machine.
	given int
}

// startPostgres starts a server with default settings that listens only on a Unix socket,
// or uses an existing one by its URL.
func startPostgres(ctx context.Context, given string) (*postgresServer, error) {
	if given != "" {
		admin, err := url.Parse(given)
		if err != nil {
			return nil, errors.New("--postgres is not a URL")
		}
		s := &postgresServer{admin: admin}
		return s, s.findProcess(ctx)
	}
	bin, err := postgrestest.Binaries()
	if err != nil {
		return nil, fmt.Errorf("%w: install Postgres or name a server with --postgres", err)
	}
	account, err := postgrestest.Unprivileged()
	if err != nil {
		return nil, err
	}
	// The path of a Unix socket has at most 107 bytes, so TMPDIR is not used.
	directory, err := os.MkdirTemp("/tmp", "holdpoint-waits-postgres-")
	if err != nil {
		return nil, err
	}
	s := &postgresServer{directory: directory, admin: &url.URL{
		Scheme: "postgres", User: url.User("postgres"), Path: "/postgres",
		RawQuery: url.Values{"host": {directory}, "sslmode": {"disable"}}.Encode(),
	}}
	if err := s.start(ctx, bin, account); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

func (s *postgresServer) start(ctx context.Context, bin string, account *syscall.Credential) error {
	if account != nil {
		if err := os.Chown(s.directory, int(account.Uid), int(account.Gid)); err != nil {
			return err
		}
	}
	data := filepath.Join(s.directory, "data")
	initdb := exec.CommandContext(ctx, filepath.Join(bin, "initdb"),
		"--pgdata", data, "--username", "postgres", "--auth", "trust", "--encoding", "UTF8", "--no-locale")
	initdb.Dir = s.directory
	initdb.SysProcAttr = &syscall.SysProcAttr{Credential: account}
	if _, err := output1(initdb); err != nil {
		return err
	}
	// Not CommandContext, which would kill the server and leave its children.
	command := exec.Command(filepath.Join(bin, "postgres"), "-D", data, "-k", s.directory, "-c", "listen_addresses=") //nolint:noctx // See above.
	command.Dir = s.directory
	var err error
	if s.process, err = startProcess(command, filepath.Join(s.directory, "log"), account); err != nil {
		return err
	}
	return s.process.awaitReady(ctx, func() bool { return s.exec(ctx, "SELECT 1") == nil })
}

func (s *postgresServer) stop() error {
	if s.directory == "" {
		return nil
	}
	var err error
	if s.process != nil {
		err = s.process.stop(syscall.SIGINT)
	}
	return errors.Join(err, os.RemoveAll(s.directory))
}

// findProcess finds the process of an existing server if it is on this machine.
func (s *postgresServer) findProcess(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, s.admin.String())
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var directory string
	if err := conn.QueryRow(ctx, "SHOW data_directory").Scan(&directory); err != nil {
		return err
	}
	if text, err := os.ReadFile(filepath.Join(directory, "postmaster.pid")); err == nil {
		first, _, _ := strings.Cut(string(text), "\n")
		s.given, _ = strconv.Atoi(first) // 0 if it is not a file of Postgres
	}
	return nil
}

// pid returns the process whose children serve the connections, or 0.
func (s *postgresServer) pid() int {
	if s == nil {
		return 0
	}
	if s.process == nil {
		return s.given
	}
	return s.process.command.Process.Pid
}

// exec runs each statement in its own transaction.
func (s *postgresServer) exec(ctx context.Context, statements ...string) error {
	conn, err := pgx.Connect(ctx, s.admin.String())
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for _, statement := range statements {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// fresh creates an empty database, and leaves no dirty pages of earlier ones to be written
// during the measurement.
func (s *postgresServer) fresh(ctx context.Context, name string) (url string, err error) {
	err = s.exec(ctx, "DROP DATABASE IF EXISTS "+quote(name)+" WITH (FORCE)", "CREATE DATABASE "+quote(name), "CHECKPOINT")
	at := *s.admin
	at.Path = "/" + name
	return at.String(), err
}

func (s *postgresServer) drop(ctx context.Context, name string) error {
	return s.exec(ctx, "DROP DATABASE "+quote(name)+" WITH (FORCE)")
}

// shown returns the settings that affect durability and speed most.
func (s *postgresServer) shown(ctx context.Context) (map[string]string, error) {
	conn, err := pgx.Connect(ctx, s.admin.String())
	if err != nil {
		return nil, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	shown := map[string]string{}
	for _, name := range []string{
		"server_version", "fsync", "synchronous_commit", "full_page_writes", "wal_sync_method", "shared_buffers", "max_connections", "commit_delay",
	} {
		var value string
		if err := conn.QueryRow(ctx, "SHOW "+name).Scan(&value); err != nil {
			return nil, err
		}
		shown[name] = value
	}
	return shown, nil
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }
