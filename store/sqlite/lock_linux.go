package sqlite

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

const (
	// setOpenFileLock is F_OFD_SETLK of fcntl(2), which package syscall does not have.
	setOpenFileLock = 37
	// lockedByte is in the page of SQLite's own locks, behind them. SQLite never reads or writes that page, however large the
	// file, which counts on disks whose locks stop writes (SMB).
	lockedByte = 1<<30 + 512
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
