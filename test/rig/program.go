package rig

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/internal/testcache"
)

var programs = struct {
	sync.Mutex
	directory string
	paths     map[string]string
}{paths: map[string]string{}}

// prebuiltVariable names a directory with programs that CI has built: holdpoint, and holdpoint-TAGS
// for builds with tags. Every package of tests then starts the same file, and links none.
const prebuiltVariable = "HOLDPOINT_TEST_PROGRAMS"

// Program returns the path of cmd/holdpoint built with the given tags. It comes from the directory
// in HOLDPOINT_TEST_PROGRAMS, or is built once per test process and removed by [Main].
func Program(tb testing.TB, tags ...string) string {
	tb.Helper()
	path, err := program(tags)
	require.NoError(tb, err)
	return path
}

func program(tags []string) (string, error) {
	joined := strings.Join(tags, ",")
	if directory := os.Getenv(prebuiltVariable); directory != "" {
		path := filepath.Join(directory, strings.Join(append([]string{"holdpoint"}, tags...), "-"))
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return build(joined, "-tags", joined)
}

// OnPath puts the program first on the PATH of this process, under its name. TestMain calls it before [Main].
func OnPath() {
	path, err := program(nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := os.Setenv("PATH", filepath.Dir(path)+string(filepath.ListSeparator)+os.Getenv("PATH")); err != nil {
		panic(err) // the name and the value are texts
	}
}

// build builds the program with flags of "go build", unless it exists under this name.
func build(name string, flags ...string) (string, error) {
	programs.Lock()
	defer programs.Unlock()
	if path, built := programs.paths[name]; built {
		return path, nil
	}
	if programs.directory == "" {
		directory, err := os.MkdirTemp("", "holdpoint-rig-*")
		if err != nil {
			return "", err
		}
		programs.directory = directory
	}
	path := filepath.Join(programs.directory, strconv.Itoa(len(programs.paths)), "holdpoint")
	if err := errors.Join(os.Mkdir(filepath.Dir(path), 0o700), buildKept(path, flags)); err != nil {
		return "", err
	}
	programs.paths[name] = path
	return path, nil
}

// buildKept builds the program in the user's cache directory and copies it. Every package of tests
// needs it. Linking takes seconds, but "go build" detects quickly that a program is up to date.
// Without a cache directory it is built in place.
func buildKept(path string, flags []string) error {
	module, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return fmt.Errorf("go env: %w", err)
	}
	kept, err := testcache.Directory()
	if err != nil {
		return goBuild(path, flags)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %q %s %s", module, flags, os.Getenv("GOFLAGS"), os.Getenv("CGO_ENABLED")))
	kept = filepath.Join(kept, "program-"+hex.EncodeToString(sum[:8]))
	unlock, err := testcache.Lock(kept + ".lock")
	if err != nil {
		return err
	}
	defer unlock()
	if err := goBuild(kept, flags); err != nil {
		return err
	}
	removeOldPrograms(kept)
	// Another process may soon build one from other sources.
	return copyProgram(kept, path)
}

// removeOldPrograms removes the programs of trees that were not built for a week.
func removeOldPrograms(mine string) {
	kept, err := filepath.Glob(filepath.Join(filepath.Dir(mine), "program-*"))
	if err != nil {
		return
	}
	for _, path := range kept {
		info, err := os.Stat(path)
		if err == nil && !strings.HasPrefix(path, mine) && time.Since(info.ModTime()) > 7*24*time.Hour {
			_ = os.Remove(path)
		}
	}
}

func goBuild(path string, flags []string) error {
	arguments := append([]string{"build", "-o", path}, flags...)
	command := exec.CommandContext(context.Background(), "go", append(arguments, "github.com/holdpoint/holdpoint/cmd/holdpoint")...)
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %q: %w\n%s", flags, err, output)
	}
	return nil
}

func copyProgram(from, to string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close())
}

// removePrograms removes the programs built by [Program].
func removePrograms() {
	programs.Lock()
	defer programs.Unlock()
	if programs.directory != "" {
		_ = os.RemoveAll(programs.directory)
	}
	programs.directory, programs.paths = "", map[string]string{}
}
