// Package keyfile creates files of secret keys. It must not know what a key is.
package keyfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Create creates a file with mode 0600 atomically. It keeps an existing file, even if another
// process creates it at the same time.
func Create(path string, text []byte) (err error) {
	// CreateTemp uses mode 0600.
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(file.Name())) }()
	_, err = file.Write(text)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Link(file.Name(), path); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}
