package load

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime/debug"
	"strconv"
	"time"
)

// Line is a line of [Main]'s output. One member is set.
type Line struct {
	// Mark is [Began] or [Ended].
	Mark string `json:"mark,omitempty"`
	// Result is in the last line.
	Result *Result `json:"result,omitempty"`
}

// The marks of a [Line].
const (
	Began = "measured time begins"
	Ended = "measured time is over"
)

// Main measures the subject returned by open, configured by the arguments (see [Options]),
// and writes each [Line] as JSON. After a mark it waits for a line, or the end, of in,
// while its clients continue, so that the parent process can read CPU times. It returns the
// error of the measurement.
func Main(ctx context.Context, arguments []string, in io.Reader, out io.Writer, open func(context.Context, Options) (Subject, error)) (err error) {
	options, err := parse(arguments)
	if err != nil {
		return err
	}
	subject, err := open(ctx, options)
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	write, acknowledged := json.NewEncoder(out), bufio.NewScanner(in)
	mark := func(text string) func() {
		return func() {
			err = errors.Join(err, write.Encode(Line{Mark: text}))
			acknowledged.Scan()
		}
	}
	result, failure := Run(ctx, subject, options, mark(Began), mark(Ended))
	if err = errors.Join(err, failure, subject.Close()); err != nil {
		return err
	}
	if shared, is := subject.(Shared); is && len(shared.Shares()) > 1 {
		result.Shares = shared.Shares()
	}
	result.Modules = modules()
	return write.Encode(Line{Result: result})
}

func parse(arguments []string) (Options, error) {
	var o Options
	flags := flag.NewFlagSet("load", flag.ContinueOnError)
	flags.StringVar(&o.Target, "target", "", "URL of the database or of the service")
	flags.IntVar(&o.Clients, "clients", 1, "how many clients carry waits at once")
	flags.DurationVar(&o.Warmup, "warmup", time.Second, "how long to work before the measured time")
	flags.DurationVar(&o.Duration, "for", 5*time.Second, "the measured time")
	flags.IntVar(&o.Waits, "waits", 0, "end the measured time after so many waits; 0 for no limit")
	if err := flags.Parse(arguments); err != nil {
		return o, err
	}
	if o.Target == "" || o.Clients < 1 || o.Warmup < 0 || o.Duration <= 0 || o.Waits < 0 {
		return o, fmt.Errorf("-target is needed, and the others must be positive: %+v", o)
	}
	return o, nil
}

// Arguments returns the arguments for [Main] with these options.
func (o Options) Arguments() []string {
	return []string{
		"-target", o.Target, "-clients", strconv.Itoa(o.Clients), "-warmup", o.Warmup.String(),
		"-for", o.Duration.String(), "-waits", strconv.Itoa(o.Waits),
	}
}

// modules returns the versions of this program's modules.
func modules() map[string]string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	versions := map[string]string{"go": info.GoVersion}
	for _, m := range info.Deps {
		versions[m.Path] = m.Version
	}
	return versions
}
