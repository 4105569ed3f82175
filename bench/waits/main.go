//go:build unix

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/holdpoint/holdpoint/bench/load"
)

// First arguments that run this program as the load of a subject.
const (
	loadHTTP   = "load-http"
	loadEngine = "load-engine"
)

func main() {
	// The kernel kills the children when the thread that started them ends.
	runtime.LockOSThread()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "waits:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, arguments []string, out, progress io.Writer) error {
	if len(arguments) > 0 {
		switch arguments[0] {
		case loadHTTP:
			return load.Main(ctx, arguments[1:], os.Stdin, out, openHTTP)
		case loadEngine:
			return load.Main(ctx, arguments[1:], os.Stdin, out, openEngine)
		}
	}
	s, err := parse(arguments, progress)
	if err != nil {
		return err
	}
	return s.measure(ctx, out, progress)
}

// settings are the settings from the command line.
type settings struct {
	binaries []named
	engine   bool
	// tokens adds services that require a token.
	tokens bool
	// replicas adds each service with that many processes on one database; 0 for none.
	replicas int
	// Measure each service also with that many suspended and as many finished runs in the
	// database; 0 for none.
	rows     int
	madeRows bool
	// noService leaves out the service of this tree.
	noService bool
	floors    []floor
	peers     []string
	database  string
	postgres  string
	clients   []int
	rounds    int
	options   load.Options
	jsonPath  string
	// directory has the binaries, the databases and the Postgres server.
	directory string
	// loadProgram is the path of this program.
	loadProgram string
}

// named is an executable with its displayed name.
type named struct{ name, path string }

func parse(arguments []string, usage io.Writer) (*settings, error) {
	s := &settings{}
	flags := flag.NewFlagSet("waits", flag.ContinueOnError)
	flags.SetOutput(usage)
	flags.Func("binary", "NAME=PATH of a holdpoint to measure; may be repeated; without any this tree is built", func(text string) error {
		name, path, found := strings.Cut(text, "=")
		if !found || name == "" || path == "" {
			return errors.New("it must be NAME=PATH")
		}
		s.binaries = append(s.binaries, named{name, path})
		return nil
	})
	flags.Func("peer", "directory in bench/peers to measure as well; may be repeated", func(text string) error {
		s.peers = append(s.peers, text)
		return nil
	})
	flags.BoolVar(&s.engine, "engine", false, "measure the engine of this tree in process as well")
	flags.BoolVar(&s.tokens, "tokens", false, "measure each service also where calls need a token, as NAME+token")
	flags.IntVar(&s.replicas, "replicas", 0, "measure each service also as so many processes on one database, as NAMExN")
	flags.IntVar(&s.rows, "rows", 0, "measure each service also with so many suspended and as many finished runs in its database, as NAME+rows")
	flags.BoolVar(&s.noService, "no-service", false, "measure no service over HTTP unless --binary names one")
	flags.Func("floor", "SUBJECT/REFERENCE=RATIO of waits/s below which the run fails; may be repeated", func(text string) error {
		f, err := parseFloor(text)
		s.floors = append(s.floors, f)
		return err
	})
	flags.StringVar(&s.database, "database", "postgres", "postgres or sqlite")
	flags.StringVar(&s.postgres, "postgres", "", "URL of a Postgres server to use instead of one of its own; its user must be a superuser")
	clients := flags.String("clients", "1,8,64", "how many clients at once, one table each")
	flags.IntVar(&s.rounds, "rounds", 3, "how often each subject takes its turn")
	flags.DurationVar(&s.options.Warmup, "warmup", 2*time.Second, "how long each works before it is measured")
	flags.DurationVar(&s.options.Duration, "for", 10*time.Second, "how long each is measured")
	flags.IntVar(&s.options.Waits, "waits", 0, "end a measurement after so many waits; 0 for no limit")
	flags.StringVar(&s.jsonPath, "json", "", "write every measurement to this file")
	if err := flags.Parse(arguments); err != nil {
		return nil, err
	}
	for text := range strings.SplitSeq(*clients, ",") {
		count, err := strconv.Atoi(text)
		if err != nil || count < 1 {
			return nil, fmt.Errorf("--clients %q: %q is not a count", *clients, text)
		}
		s.clients = append(s.clients, count)
	}
	switch {
	case flags.NArg() > 0:
		return nil, fmt.Errorf("unknown argument %q", flags.Arg(0))
	case s.database != "postgres" && s.database != "sqlite":
		return nil, errors.New("--database must be postgres or sqlite")
	case s.database == "sqlite" && (len(s.peers) > 0 || s.postgres != ""):
		return nil, errors.New("--peer and --postgres need --database postgres")
	case s.database == "sqlite" && (s.replicas > 0 || s.rows > 0):
		return nil, errors.New("--replicas and --rows need --database postgres")
	case s.replicas < 0 || s.rows < 0:
		return nil, errors.New("--replicas and --rows must not be negative")
	case s.rounds < 1:
		return nil, errors.New("--rounds must be positive")
	}
	return s, nil
}
