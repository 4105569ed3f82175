package signing

import (
	"crypto"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-jose/go-jose/v4"
)

const (
	pemPrivate = "PRIVATE KEY"
	// maxFileBytes is the maximum size of a key file.
	maxFileBytes = 1 << 20
)

// Load returns the private keys in a file: PEM, each in PKCS #8, as "openssl genpkey -algorithm
// ed25519" writes them. A missing file is created with one new key and mode 0600. When several
// processes create it at once, all of them get the same key.
func Load(path string) ([]ed25519.PrivateKey, error) {
	keys, err := read(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return keys, err
	}
	if err := make0600(path); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("make the file of the signing key: %w", err)
	}
	return read(path)
}

func read(path string) ([]ed25519.PrivateKey, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("signing key: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxFileBytes {
		return nil, fmt.Errorf("signing key: %s is not a key file", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("signing key: %w", err)
	}
	var keys []ed25519.PrivateKey
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != pemPrivate {
			return nil, fmt.Errorf("signing key: %s has a block %.40q; only %q is known", path, block.Type, pemPrivate)
		}
		parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		key, is := parsed.(ed25519.PrivateKey)
		if err != nil || !is {
			return nil, fmt.Errorf("signing key: %s has a key that is not an Ed25519 key in PKCS #8", path)
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("signing key: %s has no key in PEM", path)
	}
	return keys, nil
}

// make0600 creates a file with a new key atomically. An existing file is kept, and the error wraps
// [fs.ErrExist].
func make0600(path string) (err error) {
	key, err := Generate()
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	// CreateTemp uses mode 0600.
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(file.Name())) }()
	if err := pem.Encode(file, &pem.Block{Type: pemPrivate, Bytes: der}); err != nil {
		return errors.Join(err, file.Close())
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Link(file.Name(), path)
}

func thumbprint(key ed25519.PublicKey) (string, error) {
	sum, err := (&jose.JSONWebKey{Key: key}).Thumbprint(crypto.SHA256)
	return base64.RawURLEncoding.EncodeToString(sum), err
}
