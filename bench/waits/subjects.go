//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const modulePath = "github.com/holdpoint/holdpoint"

// subject is a system to measure.
type subject struct {
	name string
	// service is the holdpoint binary that the load calls; empty if the load uses the
	// database directly.
	service string
	// asks makes the service require a token, which the load then uses.
	asks bool
	// replicas is the number of the service's processes on the database, at least 1.
	replicas int
	// Fill the database with other runs.
	otherRows bool
	// load is the command that runs the load.
	load []string
}

// subjects returns the subjects in the order of the table, and builds them. It skips a peer
// that cannot be built, and says so on progress.
func (s *settings) subjects(ctx context.Context, progress io.Writer) ([]subject, error) {
	root, err := output1(exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", modulePath))
	if err != nil {
		root = "" // only needed to build
	}
	build := func(directory, name string, flags ...string) (string, error) {
		if root == "" {
			return "", errors.New("go list finds no source of " + modulePath + " from here")
		}
		path := filepath.Join(s.directory, "bin-"+name)
		command := exec.CommandContext(ctx, "go", append([]string{"build", "-o", path}, flags...)...)
		command.Dir = filepath.Join(root, directory)
		_, err := output1(command)
		return path, err
	}
	binaries := s.binaries
	if len(binaries) == 0 && !s.noService {
		path, err := build("cmd/holdpoint", "holdpoint")
		if err != nil {
			return nil, err
		}
		binaries = []named{{"holdpoint", path}}
	}
	var all []subject
	for _, b := range binaries {
		path, err := filepath.Abs(b.path)
		if err != nil {
			return nil, err
		}
		if _, err := output1(exec.CommandContext(ctx, path, "version")); err != nil {
			return nil, fmt.Errorf("--binary %s: %w", b.name, err)
		}
		one := subject{name: b.name, service: path, replicas: 1, load: []string{s.loadProgram, loadHTTP}}
		all = append(all, one)
		if s.replicas > 0 {
			several := one
			several.name, several.replicas = fmt.Sprintf("%sx%d", b.name, s.replicas), s.replicas
			all = append(all, several)
		}
		if s.rows > 0 {
			among := one
			among.name, among.otherRows = b.name+"+rows", true
			all = append(all, among)
		}
		if s.tokens {
			one.name, one.asks = b.name+"+token", true
			all = append(all, one)
		}
	}
	if s.engine {
		all = append(all, subject{name: "engine", load: []string{s.loadProgram, loadEngine}})
	}
	for _, name := range s.peers {
		directory := filepath.Join("bench", "peers", name)
		modfile, err := copyModule(filepath.Join(root, directory), filepath.Join(s.directory, "mod-"+name))
		if err != nil {
			return nil, fmt.Errorf("--peer %s: %w", name, err)
		}
		path, err := build(directory, name, "-mod=mod", "-modfile", modfile)
		if err != nil {
			fmt.Fprintf(progress, "left out: peer %s cannot be built: %v\n", name, err)
			continue
		}
		all = append(all, subject{name: name, load: []string{path}})
	}
	return all, nil
}

// copyModule copies go.mod and go.sum, so that a build may update their versions without
// changing the source tree.
func copyModule(from, to string) (modfile string, err error) {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return "", err
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(to, name), text, 0o600); err != nil {
			return "", err
		}
	}
	return filepath.Join(to, "go.mod"), nil
}

// output1 runs a command and returns its output without the last newline. The error
// contains its stderr.
func output1(command *exec.Cmd) (string, error) {
	var complaint strings.Builder
	command.Stderr = &complaint
	text, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(command.Args, " "), err, strings.TrimSpace(complaint.String()))
	}
	return strings.TrimSpace(string(text)), nil
}
