package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

const (
	// setOpenFileLock is F_OFD_SETLK of fcntl(2), which package syscall does not have.
	setOpenFileLock = 37
	// getOpenFileLock is F_OFD_GETLK.
	getOpenFileLock = 36
	// lockedByte is in the page of SQLite's own locks, behind them. SQLite never reads or writes that page, however large the
	// file, which counts on disks whose locks stop writes (SMB).
	lockedByte = locksOfSQLite + 512
	// locksOfSQLite is where the 512 bytes of SQLite's own locks begin.
	locksOfSQLite = 1 << 30
)

// lockContents locks the file itself, which may have other names than the one that has the lock file: a hard
// link, or the mount of a single file in a container. Each name has a log of its own, so that two processes would
// overwrite each other's decisions. Close what it returns after the database: closing any descriptor of a file drops SQLite's
// locks on it. Where files cannot be locked like this, the lock file is all there is.
func lockContents(path string) (*os.File, error) {
	opened, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, nil //nolint:nilerr // SQLite opens it next and says why it cannot
	}
	err = syscall.FcntlFlock(opened.Fd(), setOpenFileLock, &syscall.Flock_t{Type: syscall.F_WRLCK, Start: lockedByte, Len: 1})
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) {
		_ = opened.Close()
		return nil, fmt.Errorf("%s, by another name: %w", path, ErrInUse)
	}
	return opened, nil
}

// checkName refuses a file that a process has open by another name: its newest decisions are in the log next to that name, and
// a copy of this one lacks them. Call it as [checkLog].
func checkName(path string) error {
	if log, err := os.Stat(path + "-wal"); err == nil && log.Size() > 0 {
		return nil // the log of a process that has this name; readers leave an empty one
	}
	// The lock file is locked first and released last: a process that starts or ends meanwhile has this name.
	if mayBeLocked(path + ".lock") {
		return nil
	}
	if held, _ := locked(path, lockedByte, 1); !held || mayBeLocked(path+".lock") {
		return nil
	}
	return fmt.Errorf("%s is in use by another name, a hard link or a mount of the file alone, and lacks its newest decisions: use that name", path)
}

// mayBeLocked reports whether a process has a lock file, or may have it: only its owner may look.
func mayBeLocked(path string) bool {
	held, err := locked(path, locksOfSQLite, 512)
	return held || err != nil && !errors.Is(err, fs.ErrNotExist)
}

// locked reports whether a process has an exclusive lock on bytes of a file.
func locked(path string, start, length int64) (bool, error) {
	file, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer file.Close()
	lock := syscall.Flock_t{Type: syscall.F_RDLCK, Start: start, Len: length}
	err = syscall.FcntlFlock(file.Fd(), getOpenFileLock, &lock)
	return err == nil && lock.Type == syscall.F_WRLCK, err
}
