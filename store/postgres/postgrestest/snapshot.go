//go:build unix

package postgrestest

import (
	"archive/tar"
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdpoint/holdpoint/internal/testcache"
	"github.com/holdpoint/holdpoint/migrations"
)

// maxSnapshots is how many snapshots are kept, of other schemas and other versions of Postgres.
const maxSnapshots = 8

// fromSnapshot creates a server's data directory: a new cluster with the template database. That
// takes two seconds of CPU, and each test process needs one, so the result is kept per schema in
// the user's cache directory.
func fromSnapshot(ctx context.Context, bin, data string) error {
	path, err := snapshotPath(bin)
	if err != nil {
		return err
	}
	return snapshotted(path, data, func() error { return makeSnapshot(ctx, bin, path) })
}

// snapshotted unpacks the snapshot at a path, and creates it if it is missing or damaged.
func snapshotted(path, data string, makeOne func() error) error {
	unlock, err := testcache.Lock(filepath.Join(filepath.Dir(path), "lock"))
	if err != nil {
		return err
	}
	defer unlock()
	if unpack(path, data) == nil {
		return nil
	}
	if err := errors.Join(os.RemoveAll(data), makeOne()); err != nil {
		return err
	}
	return unpack(path, data)
}

// snapshotPath returns the name of the snapshot of this schema for this installation.
func snapshotPath(bin string) (string, error) {
	directory, err := testcache.Directory()
	if err != nil {
		return "", err
	}
	digest, err := migrations.Digest(migrations.Postgres)
	if err != nil {
		return "", err
	}
	server, err := os.Stat(filepath.Join(bin, "postgres"))
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %d %q", bin, server.Size(), server.ModTime().UnixNano(), initArguments))
	return filepath.Join(directory, "postgres-"+hex.EncodeToString(sum[:8])+"-"+digest[:16]+".tar"), nil
}

// makeSnapshot creates a cluster with the template database and packs it.
func makeSnapshot(ctx context.Context, bin, path string) error {
	s, data, err := startCluster(ctx, bin, false, func(ctx context.Context, data string) error { return initCluster(ctx, bin, data) })
	if err != nil {
		return err
	}
	_, err = s.makeTemplate(ctx)
	if err := errors.Join(err, s.shutDown()); err != nil {
		return errors.Join(err, s.remove())
	}
	return errors.Join(pack(data, path), s.remove(), removeOldest(filepath.Dir(path)))
}

// removeOldest removes all snapshots but the newest.
func removeOldest(directory string) error {
	entries, err := os.ReadDir(directory)
	if err != nil {
		return err
	}
	var snapshots []fs.FileInfo
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && strings.HasPrefix(entry.Name(), "postgres-") {
			snapshots = append(snapshots, info)
		}
	}
	slices.SortFunc(snapshots, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	for _, old := range snapshots[min(maxSnapshots, len(snapshots)):] {
		if err := os.Remove(filepath.Join(directory, old.Name())); err != nil {
			return err
		}
	}
	return nil
}

// lastEntry ends a snapshot, to detect an incomplete archive.
const lastEntry = "whole"

// pack writes a directory into one file, whole or not at all.
func pack(directory, path string) (err error) {
	file, err := os.CreateTemp(filepath.Dir(path), "new-*")
	if err != nil {
		return err
	}
	defer func() {
		err = cmp.Or(err, file.Close())
		if err != nil {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	buffer := bufio.NewWriterSize(file, 1<<20)
	archive := tar.NewWriter(buffer)
	if err := archive.AddFS(os.DirFS(directory)); err != nil {
		return err
	}
	if err := archive.WriteHeader(&tar.Header{Name: lastEntry, Typeflag: tar.TypeReg}); err != nil {
		return err
	}
	if err := archive.Close(); err != nil {
		return err
	}
	if err := buffer.Flush(); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// unpack creates a directory from an archive of pack, owned by the account that runs Postgres.
func unpack(path, directory string) error {
	account, err := Unprivileged()
	if err != nil {
		return err
	}
	own := func(name string) error {
		if account == nil {
			return nil
		}
		return os.Lchown(name, int(account.Uid), int(account.Gid))
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := errors.Join(os.Mkdir(directory, 0o700), own(directory)); err != nil {
		return err
	}
	archive := tar.NewReader(bufio.NewReaderSize(file, 1<<20))
	buffer := make([]byte, 1<<16)
	for {
		header, err := archive.Next()
		if err != nil {
			return err // before the last entry, io.EOF is one, too
		}
		if header.Name == lastEntry {
			return nil
		}
		name := filepath.Join(directory, filepath.FromSlash(header.Name))
		if header.Typeflag == tar.TypeDir {
			err = os.Mkdir(name, 0o700)
		} else {
			err = unpackFile(name, archive, buffer)
		}
		if err := errors.Join(err, own(name)); err != nil {
			return err
		}
	}
}

func unpackFile(name string, from io.Reader, buffer []byte) error {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.CopyBuffer(struct{ io.Writer }{file}, from, buffer)
	return errors.Join(err, file.Close())
}
