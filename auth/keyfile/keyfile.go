// Package keyfile creates files of secret keys. It must not know what a key is for.
package keyfile

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/holdpoint/holdpoint/internal/dirsync"
)

// PrivateKey is the type of the PEM block of a private key.
const PrivateKey = "PRIVATE KEY"

// CreatePrivate is [Create] for a private key, which [x509.MarshalPKCS8PrivateKey] must know: PEM and
// PKCS #8.
func CreatePrivate(path string, key any) error {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	return Create(path, pem.EncodeToMemory(&pem.Block{Type: PrivateKey, Bytes: der}))
}

// Create creates a file with mode 0600 atomically, and returns when it is on the disk. It keeps an
// existing file, even if another process creates it at the same time.
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
	if err := os.Link(file.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	// Without this, a power cut could lose a key that is already in use.
	return syncDirectory(filepath.Dir(path))
}

// syncDirectory is [dirsync.Sync], except in tests.
var syncDirectory = dirsync.Sync
