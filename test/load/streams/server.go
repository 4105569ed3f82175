package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// server is a measured process with its subscribers.
type server struct {
	name    string
	address string
	process *exec.Cmd
	folder  string
	client  *http.Client
	readers *readers
	// first is the path of the first subscriber.
	first string
	// before is its memory without subscribers, and each the memory per subscriber, in bytes.
	before int
	each   float64
}

// startHoldpoint starts the service on a new database, or on the given one.
func startHoldpoint(ctx context.Context, program, database string) (*server, error) {
	folder, err := os.MkdirTemp("", "holdpoint-streams-")
	if err != nil {
		return nil, err
	}
	if database == "" {
		database = "sqlite:" + filepath.Join(folder, "holdpoint.db")
	}
	file := filepath.Join(folder, "url")
	s := &server{name: "holdpoint", folder: folder, client: &http.Client{Timeout: time.Minute}}
	s.process = exec.CommandContext(ctx, program, "serve", "--listen", "127.0.0.1:0", "--listen-file", file, "--database", database, "--log-level", "error")
	s.process.Stderr = os.Stderr
	if err := s.process.Start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	for range 500 {
		if url, err := os.ReadFile(file); err == nil && strings.HasPrefix(string(url), "http://") {
			s.address = strings.TrimPrefix(strings.TrimSpace(string(url)), "http://")
			return s, nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	s.stop()
	return nil, errors.New("holdpoint did not start")
}

func startBare(ctx context.Context) (*server, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	s := &server{name: "bare", client: &http.Client{Timeout: time.Minute}}
	s.process = exec.CommandContext(ctx, program, "-bare")
	s.process.Stderr = os.Stderr
	out, err := s.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.process.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		s.stop()
		return nil, fmt.Errorf("the bare server did not start: %w", err)
	}
	s.address = strings.TrimSpace(line)
	return s, nil
}

func (s *server) stop() {
	if s.readers != nil {
		s.readers.stop()
	}
	_ = s.process.Process.Kill()
	_ = s.process.Wait()
	if s.folder != "" {
		_ = os.RemoveAll(s.folder)
	}
}

// memory returns how many bytes of the process are in memory.
func (s *server) memory() (int, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.process.Process.Pid))
	if err != nil {
		return 0, err
	}
	_, line, _ := strings.Cut(string(text), "VmRSS:")
	line, _, _ = strings.Cut(line, "kB")
	kilobytes, err := strconv.Atoi(strings.TrimSpace(line))
	return kilobytes * 1024, err
}

func (s *server) post(ctx context.Context, path, body string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.address+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	reply, err := s.client.Do(request)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err == nil && reply.StatusCode >= http.StatusMultipleChoices {
		err = fmt.Errorf("POST %s: %s: %s", path, reply.Status, text)
	}
	return err
}

// bareServer is the least that net/http can do: a handler that waits for a channel and
// writes.
type bareServer struct {
	mu      sync.Mutex
	changed map[string]chan struct{}
}

func serveBare(ctx context.Context, out io.Writer) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintln(out, listener.Addr())
	handler := &bareServer{changed: map[string]chan struct{}{}}
	service := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	return service.Serve(listener)
}

func sendBare(ctx context.Context, s *server) error {
	return s.post(ctx, s.first, "")
}

func (s *bareServer) of(path string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed[path] == nil {
		s.changed[path] = make(chan struct{})
	}
	return s.changed[path]
}

func (s *bareServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		s.mu.Lock()
		defer s.mu.Unlock()
		close(s.changed[r.URL.Path])
		s.changed[r.URL.Path] = make(chan struct{})
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	for {
		changed := s.of(r.URL.Path)
		if _, err := w.Write(bareFrame); err != nil || control.Flush() != nil {
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}
