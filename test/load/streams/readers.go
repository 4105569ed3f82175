package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"
)

// patience limits how long one event may take to reach all subscribers.
const patience = time.Minute

// readers is the process that follows one server. It is a separate process because of the limit of
// open files.
type readers struct {
	process *exec.Cmd
	in      io.WriteCloser
	lines   chan string
}

// subscribe opens all streams and waits until each has had its first frame.
func (s *server) subscribe(ctx context.Context, paths []string) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	r := &readers{process: exec.CommandContext(ctx, program, "-read", s.address), lines: make(chan string, 1)}
	r.process.Stderr = os.Stderr
	if r.in, err = r.process.StdinPipe(); err != nil {
		return err
	}
	out, err := r.process.StdoutPipe()
	if err != nil {
		return err
	}
	if err := r.process.Start(); err != nil {
		return err
	}
	s.readers, s.first = r, paths[0]
	go func() {
		defer close(r.lines)
		for scanner := bufio.NewScanner(out); scanner.Scan(); {
			r.lines <- scanner.Text()
		}
	}()
	if _, err := io.WriteString(r.in, strings.Join(paths, "\n")+"\n\n"); err != nil {
		return err
	}
	_, err = r.answer(ctx)
	return err
}

// reach returns the time until an event has reached the last subscriber.
func (s *server) reach(ctx context.Context, reached int, send func(context.Context, *server) error) (time.Duration, error) {
	if _, err := fmt.Fprintln(s.readers.in, reached); err != nil {
		return 0, err
	}
	if _, err := s.readers.answer(ctx); err != nil {
		return 0, err
	}
	begin := time.Now() //nolint:forbidigo // It measures.
	if err := send(ctx, s); err != nil {
		return 0, err
	}
	last, err := s.readers.answer(ctx)
	return time.Duration(last - begin.UnixNano()), err
}

// answer returns the number in the next line of the readers.
func (r *readers) answer(ctx context.Context) (number int64, err error) {
	select {
	case line, there := <-r.lines:
		if !there {
			return 0, errors.New("the readers have ended")
		}
		_, err = fmt.Sscan(line, &number)
		return number, err
	case <-time.After(patience):
		return 0, errors.New("not all readers got it")
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

func (r *readers) stop() {
	_ = r.in.Close()
	_ = r.process.Process.Kill()
	_ = r.process.Wait()
}

// tally counts the frames received by all readers of a process.
type tally struct {
	count atomic.Int64
	// wanted is the count at which the time is reported.
	wanted  atomic.Int64
	reached chan int64
}

// read runs in the readers' process. It reads the paths to follow, one per line, up to an empty
// line, and prints a number when all have had a frame. Then it reads numbers of frames. For each it
// prints 0 when it is ready, and the time in nanoseconds when they have arrived.
func read(ctx context.Context, address string, in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	var paths []string
	for lines.Scan() && lines.Text() != "" {
		paths = append(paths, lines.Text())
	}
	t := &tally{reached: make(chan int64, 1)}
	t.wanted.Store(int64(len(paths)))
	for _, path := range paths {
		connection, err := open(ctx, address, path, 0)
		if err != nil {
			return err
		}
		defer connection.Close()
		go t.follow(connection)
	}
	fmt.Fprintln(out, <-t.reached)
	for lines.Scan() {
		var more int64
		if _, err := fmt.Sscan(lines.Text(), &more); err != nil {
			return err
		}
		t.wanted.Store(t.count.Load() + more)
		fmt.Fprintln(out, 0)
		fmt.Fprintln(out, <-t.reached)
	}
	return lines.Err()
}

// open asks for a stream by hand, so that the reader's end is small and the same for
// each server.
func open(ctx context.Context, address, path string, buffer int) (net.Conn, error) {
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	if tcp, ok := connection.(*net.TCPConn); ok && buffer > 0 {
		if err := tcp.SetReadBuffer(buffer); err != nil {
			return nil, err
		}
	}
	_, err = fmt.Fprintf(connection, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path)
	return connection, err
}

// follow counts lines that begin with "event: ".
func (t *tally) follow(connection net.Conn) {
	const sought = "event: "
	buffer, at := make([]byte, 512), 0
	for {
		n, err := connection.Read(buffer)
		for _, one := range buffer[:n] {
			switch {
			case one == '\n':
				at = 0
			case at < 0:
			case one != sought[at]:
				at = -1
			default:
				if at++; at == len(sought) {
					t.arrived()
					at = -1
				}
			}
		}
		if err != nil {
			return
		}
	}
}

func (t *tally) arrived() {
	if count := t.count.Add(1); count == t.wanted.Load() {
		t.reached <- time.Now().UnixNano() //nolint:forbidigo // It measures.
	}
}
