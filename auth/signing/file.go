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

	"github.com/go-jose/go-jose/v4"

	"github.com/holdpoint/holdpoint/auth/keyfile"
)

// maxFileBytes is the maximum size of a key file.
const maxFileBytes = 1 << 20

// Load returns the private keys in a file: PEM, each in PKCS #8, as "openssl genpkey -algorithm
// ed25519" writes them. A missing file is created with one new key and mode 0600. When several
// processes create it at once, all of them get the same key.
func Load(path string) ([]ed25519.PrivateKey, error) {
	keys, err := read(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return keys, err
	}
	key, err := Generate()
	if err != nil {
		return nil, err
	}
	if err := keyfile.CreatePrivate(path, key); err != nil {
		return nil, fmt.Errorf("create the signing key file: %w", err)
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
		if block.Type != keyfile.PrivateKey {
			return nil, fmt.Errorf("signing key: %s has a block %.40q; only %q is known", path, block.Type, keyfile.PrivateKey)
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

func thumbprint(key ed25519.PublicKey) (string, error) {
	sum, err := (&jose.JSONWebKey{Key: key}).Thumbprint(crypto.SHA256)
	return base64.RawURLEncoding.EncodeToString(sum), err
}
