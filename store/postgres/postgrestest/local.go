//go:build unix

package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// binaryDirectories are searched after PATH.
var binaryDirectories = []string{
	"/usr/lib/postgresql/*/bin", // Debian
	"/usr/pgsql-*/bin",          // Red Hat
	"/usr/libexec/postgresql*",  // Alpine
	"/opt/homebrew/opt/postgresql*/bin",
	"/usr/local/opt/postgresql*/bin",
}

// Binaries returns the directory of an installation's initdb, postgres and other programs, or an
// error if there is none.
func Binaries() (string, error) {
	if found, err := exec.LookPath("initdb"); err == nil {
		// It may be a link into the directory with the other programs.
		if linked, err := filepath.EvalSymlinks(found); err == nil {
			found = linked
		}
		directory := filepath.Dir(found)
		if _, err := os.Stat(filepath.Join(directory, "postgres")); err == nil {
			return directory, nil
		}
	}
	for _, pattern := range binaryDirectories {
		matches, err := filepath.Glob(filepath.Join(pattern, "initdb"))
		if err != nil || len(matches) == 0 {
			continue
		}
		slices.Sort(matches)
		return filepath.Dir(matches[len(matches)-1]), nil
	}
	return "", errNoBinaries
}

// The parents of servers' directories.
const (
	onDisk   = "/tmp"
	inMemory = "/dev/shm"
)

// parentDirectory returns the parent of a server's directory. Data that need not survive a power
// cut is in memory, if there is enough: a database consists of hundreds of files to create and
// delete.
func parentDirectory(durable bool) string {
	if !durable && memoryHolds(inMemory) {
		return inMemory
	}
	return onDisk
}

// directoryPrefix is followed by the process id of the owner.
const directoryPrefix = "holdpoint-postgres-"

// initArguments are initdb's arguments, except the directory.
var initArguments = []string{"--username", "postgres", "--auth", "trust", "--encoding", "UTF8", "--no-locale", "--no-sync"}

// startLocal starts a server of this process's own: in a new directory, on a unix
// socket only. It ends with the process, however that ends.
func startLocal(ctx context.Context, durable bool) (*server, error) {
	bin, err := Binaries()
	if err != nil {
		return nil, err
	}
	s, _, err := startCluster(ctx, bin, durable, func(ctx context.Context, data string) error {
		if !durable && fromSnapshot(ctx, bin, data) == nil {
			return nil
		}
		// A machine without a cache directory has no snapshots.
		return errors.Join(os.RemoveAll(data), initCluster(ctx, bin, data))
	})
	return s, err
}

// startCluster starts a server on the data that a function creates. It returns the server and
// its data directory.
func startCluster(ctx context.Context, bin string, durable bool, makeData func(ctx context.Context, data string) error) (s *server, data string, err error) {
	account, err := Unprivileged()
	if err != nil {
		return nil, "", err
	}
	removeAbandoned()
	// Not the test's directory: the path of a unix socket has at most 107 bytes.
	directory, err := os.MkdirTemp(parentDirectory(durable), directoryPrefix+strconv.Itoa(os.Getpid())+"-")
	if err != nil {
		return nil, "", err
	}
	if account != nil {
		if err := os.Chown(directory, int(account.Uid), int(account.Gid)); err != nil {
			return nil, "", err
		}
	}
	data = filepath.Join(directory, "data")
	if err := makeData(ctx, data); err != nil {
		return nil, "", errors.Join(err, os.RemoveAll(directory))
	}
	settings := []string{
		"-D", data, "-k", directory, "-c", "listen_addresses=", "-c", "max_connections=400",
		"-c", "log_min_messages=warning", "-c", "timezone=UTC",
	}
	if !durable {
		settings = append(settings, "-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off", "-c", "max_wal_size=256MB",
			"-c", "dynamic_shared_memory_type=mmap") // in the directory, so that nothing is left of a server that was killed
	}
	process, err := startProcess(filepath.Join(bin, "postgres"), settings, directory, account)
	if err != nil {
		return nil, "", errors.Join(err, os.RemoveAll(directory))
	}
	s = &server{admin: &url.URL{
		Scheme: "postgres", User: url.User("postgres"), Path: "/postgres",
		RawQuery: url.Values{"host": {directory}, "sslmode": {"disable"}}.Encode(),
	}}
	if !durable {
		// Without fsync, files are copied faster than blocks are logged.
		s.strategy = "FILE_COPY"
	}
	s.shutDown = func() error { return process.stop(syscall.SIGINT) }
	s.remove = func() error { return os.RemoveAll(directory) }
	s.end = func(keep bool) error {
		if keep {
			kept := filepath.Join(onDisk, "holdpoint-kept-"+filepath.Base(directory))
			fmt.Fprintf(os.Stderr, "the data of the failed tests is kept; start it with: %s -D %s -k %s\n",
				filepath.Join(bin, "postgres"), filepath.Join(kept, "data"), kept)
			return errors.Join(s.shutDown(), moveData(data, kept), s.remove())
		}
		// The data is not needed, so the server need not write it.
		return errors.Join(process.stop(syscall.SIGQUIT), s.remove())
	}
	if err := process.waitReady(ctx, s); err != nil {
		return nil, "", errors.Join(err, s.end(false))
	}
	return s, data, nil
}

// moveData moves the data of a server that was shut down to a new directory, which may be on
// another file system.
func moveData(data, kept string) error {
	account, err := Unprivileged()
	if err != nil {
		return err
	}
	packed := kept + ".tar"
	if err := errors.Join(os.Mkdir(kept, 0o700), pack(data, packed)); err != nil {
		return err
	}
	if account != nil {
		err = os.Chown(kept, int(account.Uid), int(account.Gid))
	}
	return errors.Join(err, unpack(packed, filepath.Join(kept, "data")), os.Remove(packed))
}

// initCluster creates a new cluster.
func initCluster(ctx context.Context, bin, data string) error {
	account, err := Unprivileged()
	if err != nil {
		return err
	}
	initdb := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), append([]string{"--pgdata", data}, initArguments...)...)
	initdb.SysProcAttr = &syscall.SysProcAttr{Credential: account}
	initdb.Dir = filepath.Dir(data)
	if output, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, output)
	}
	return nil
}

// Unprivileged returns the user to run Postgres as, because Postgres refuses to run as root. It
// is nil if this process is not root. It returns an error if root has no other user.
func Unprivileged() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		account, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(account.Uid, 10, 32)
		if err != nil {
			return nil, err
		}
		gid, err := strconv.ParseUint(account.Gid, 10, 32)
		if err != nil {
			return nil, err
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.New("this is root, and there is no user to run Postgres as")
}

// removeAbandoned removes the directories of killed processes, whose servers have ended with
// them.
func removeAbandoned() {
	var directories []string
	for _, parent := range []string{onDisk, inMemory} {
		found, err := filepath.Glob(filepath.Join(parent, directoryPrefix+"*"))
		if err != nil {
			return
		}
		directories = append(directories, found...)
	}
	for _, directory := range directories {
		var pid int
		if _, err := fmt.Sscanf(filepath.Base(directory), directoryPrefix+"%d-", &pid); err != nil || pid <= 0 {
			continue
		}
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			_ = os.RemoveAll(directory)
		}
	}
}

// process is a running postgres.
type process struct {
	command *exec.Cmd
	exited  chan struct{}
	exit    error
	log     string
}

// startProcess starts the server so that the kernel ends it when this process
// dies. That signal comes when the starting thread ends, so a goroutine keeps the
// thread to itself for as long as the server runs.
func startProcess(path string, arguments []string, directory string, account *syscall.Credential) (*process, error) {
	p := &process{command: exec.Command(path, arguments...), exited: make(chan struct{}), log: filepath.Join(directory, "log")}
	log, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p.command.Dir = directory
	p.command.Stdout, p.command.Stderr = log, log
	p.command.SysProcAttr = endWithParent(account)

	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.exited)
		err := p.command.Start()
		started <- err
		if err == nil {
			p.exit = p.command.Wait()
		}
	}()
	if err := <-started; err != nil {
		<-p.exited
		return nil, fmt.Errorf("start postgres: %w", err)
	}
	return p, nil
}

// waitReady returns when the server answers.
func (p *process) waitReady(ctx context.Context, s *server) error {
	for {
		conn, err := pgx.Connect(ctx, s.admin.String())
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-p.exited:
			text, _ := os.ReadFile(p.log)
			return fmt.Errorf("postgres ended at its start: %w: %s", p.exit, text)
		case <-ctx.Done():
			return fmt.Errorf("postgres does not answer: %w", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// stop ends the server by a signal: SIGINT for a shutdown that needs no client to agree, SIGQUIT
// for one that writes nothing.
func (p *process) stop(signal syscall.Signal) error {
	select {
	case <-p.exited:
		return fmt.Errorf("postgres ended by itself: %w", p.exit)
	default:
	}
	if err := p.command.Process.Signal(signal); err != nil {
		return fmt.Errorf("stop postgres: %w", err)
	}
	<-p.exited
	return nil
}
