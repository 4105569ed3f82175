package channels

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"

	"github.com/holdpoint/holdpoint/auth/keyfile"
)

// PushKey identifies the service to push services (VAPID, RFC 8292). Browsers subscribe with its
// public half, so with another key all of them must subscribe again.
type PushKey struct{ private, public string }

// LoadPushKey reads a P-256 key in PEM and PKCS #8, as "openssl genpkey -algorithm EC -pkeyopt
// ec_paramgen_curve:P-256" writes it. A missing file is created with a new key and mode 0600. When
// several processes create it at once, all of them get the same key.
func LoadPushKey(path string) (*PushKey, error) {
	key, err := readPushKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	made, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	if err := keyfile.CreatePrivate(path, made); err != nil {
		return nil, fmt.Errorf("create the push key file: %w", err)
	}
	return readPushKey(path)
}

func readPushKey(path string) (*PushKey, error) {
	text, err := readBounded(path, maxSecret)
	if err != nil {
		return nil, fmt.Errorf("push key: %w", err)
	}
	block, _ := pem.Decode(text)
	if block == nil || block.Type != keyfile.PrivateKey {
		return nil, fmt.Errorf("push key: %s has no %q in PEM", path, keyfile.PrivateKey)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	key, is := parsed.(*ecdsa.PrivateKey)
	if err != nil || !is || key.Curve != elliptic.P256() {
		return nil, fmt.Errorf("push key: %s has a key that is not a P-256 key in PKCS #8", path)
	}
	private, err := key.Bytes()
	if err != nil {
		return nil, fmt.Errorf("push key: %s: %w", path, err)
	}
	public, err := key.PublicKey.Bytes()
	if err != nil {
		return nil, fmt.Errorf("push key: %s: %w", path, err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	return &PushKey{private: encode(private), public: encode(public)}, nil
}
