package sealing

import (
	"bufio"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// KeyBytes is the length of a key and of a data key.
const KeyBytes = 32

// MaxKeys bounds the keys that are configured at once.
const MaxKeys = 32

// version begins every wrapped data key.
const version = "v1"

// Keys are the operator's keys. The first one encrypts, all of them decrypt.
type Keys struct {
	first string
	byID  map[string]*key
}

type key struct {
	wrap        cipher.AEAD
	fingerprint []byte
}

var keyID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Parse reads keys, one a line, each "[id:]base64 of 32 bytes"; empty lines and those that begin with
// # are skipped. A key without an id has the first 8 hexadecimal digits of its SHA-256. An error names
// the line and never shows a part of a key.
func Parse(text string) (*Keys, error) {
	keys := &Keys{byID: map[string]*key{}}
	lines := bufio.NewScanner(strings.NewReader(text))
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		id, encoded, named := strings.Cut(line, ":")
		if !named {
			id, encoded = "", line
		}
		secret, err := decode(encoded)
		switch {
		case err != nil:
			return nil, fmt.Errorf("line %d: a key is base64 of %d bytes, with or without an id and a colon before it", number, KeyBytes)
		case named && !keyID.MatchString(id):
			return nil, fmt.Errorf("line %d: the id of a key has 1 to 64 characters of A-Z a-z 0-9 _ -", number)
		case !named:
			sum := sha256.Sum256(secret)
			id = hex.EncodeToString(sum[:4])
		}
		if keys.byID[id] != nil {
			return nil, fmt.Errorf("line %d: the key %s is there twice", number, id)
		}
		if len(keys.byID) == MaxKeys {
			return nil, fmt.Errorf("line %d: there are more than %d keys", number, MaxKeys)
		}
		keys.byID[id] = &key{wrap: aead(derive(secret, "holdpoint wrap")), fingerprint: derive(secret, "holdpoint fingerprint")}
		if keys.first == "" {
			keys.first = id
		}
	}
	if err := lines.Err(); err != nil {
		return nil, errors.New("a line is too long to be a key")
	}
	if keys.first == "" {
		return nil, errors.New("there is no key")
	}
	return keys, nil
}

// decode takes the alphabets of base64 and of base64url, with and without padding.
func decode(text string) ([]byte, error) {
	text = strings.TrimRight(strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimSpace(text)), "=")
	secret, err := base64.RawStdEncoding.Strict().DecodeString(text)
	if err == nil && len(secret) != KeyBytes {
		err = errors.New("not the length of a key")
	}
	return secret, err
}

// First returns the id of the key that encrypts.
func (k *Keys) First() string { return k.first }

// KeyIDOf returns the id of the key that a data key is wrapped with; "" for what is none.
func KeyIDOf(wrapped string) string {
	parts := strings.Split(wrapped, ".")
	if len(parts) != 3 || parts[0] != version {
		return ""
	}
	return parts[1]
}

// NewDataKey returns a fresh data key, wrapped with the first key.
func (k *Keys) NewDataKey() string {
	var fresh [KeyBytes]byte
	_, _ = rand.Read(fresh[:]) // never fails, as its documentation says
	return k.wrapped(fresh[:])
}

func (k *Keys) wrapped(dataKey []byte) string {
	return version + "." + k.first + "." + encrypt(k.byID[k.first].wrap, dataKey, version+"."+k.first)
}

// ErrUnreadable says that a text was not made with the key that it names, was changed, or belongs to
// another place.
var ErrUnreadable = errors.New("a sealed value cannot be read with its key")

// UnknownKeyError says that a data key is wrapped with a key that is not configured.
type UnknownKeyError struct{ KeyID string }

func (e *UnknownKeyError) Error() string {
	return "the key " + e.KeyID + " is not configured"
}

func (k *Keys) unwrap(wrapped string) ([]byte, error) {
	id := KeyIDOf(wrapped)
	if id == "" {
		return nil, ErrUnreadable
	}
	key := k.byID[id]
	if key == nil {
		return nil, &UnknownKeyError{KeyID: id}
	}
	_, sealed, _ := strings.Cut(wrapped[len(version)+1:], ".")
	return decrypt(key.wrap, sealed, version+"."+id)
}

// Rewrap returns the same data key wrapped with the first key, or the text itself when that wraps it
// already. Errors: [UnknownKeyError], [ErrUnreadable].
func (k *Keys) Rewrap(wrapped string) (string, error) {
	dataKey, err := k.unwrap(wrapped)
	if err != nil || KeyIDOf(wrapped) == k.first {
		return wrapped, err
	}
	return k.wrapped(dataKey), nil
}

// Seal encrypts a value under a wrapped data key. The place says where the value belongs, and must be
// the same for [Keys.Open]. Errors: [UnknownKeyError], [ErrUnreadable].
func (k *Keys) Seal(wrapped, place string, plain []byte) (string, error) {
	dataKey, err := k.unwrap(wrapped)
	if err != nil {
		return "", err
	}
	return encrypt(aead(derive(dataKey, "holdpoint value")), plain, place), nil
}

// Open decrypts what [Keys.Seal] returned. Errors: [UnknownKeyError], [ErrUnreadable].
func (k *Keys) Open(wrapped, place, sealed string) ([]byte, error) {
	dataKey, err := k.unwrap(wrapped)
	if err != nil {
		return nil, err
	}
	return decrypt(aead(derive(dataKey, "holdpoint value")), sealed, place)
}

// Digest returns the hexadecimal HMAC-SHA-256 of a text with a wrapped data key. Errors:
// [UnknownKeyError], [ErrUnreadable].
func (k *Keys) Digest(wrapped string, text []byte) (string, error) {
	dataKey, err := k.unwrap(wrapped)
	if err != nil {
		return "", err
	}
	return mac(derive(dataKey, "holdpoint digest"), text), nil
}

// Fingerprint returns the hexadecimal HMAC-SHA-256 of a text with the first key: a repeated call is
// known by it before anybody knows which run it is about.
func (k *Keys) Fingerprint(text []byte) string { return mac(k.byID[k.first].fingerprint, text) }

func mac(key, text []byte) string {
	sum := hmac.New(sha256.New, key)
	sum.Write(text)
	return hex.EncodeToString(sum.Sum(nil))
}

// derive returns a key for one purpose, so that no key serves two.
func derive(secret []byte, purpose string) []byte {
	derived, err := hkdf.Expand(sha256.New, secret, purpose, KeyBytes)
	if err != nil {
		panic("sealing: " + err.Error()) // only for lengths that are too large
	}
	return derived
}

func aead(key []byte) cipher.AEAD {
	block, err := aes.NewCipher(key)
	if err == nil {
		var sealing cipher.AEAD
		if sealing, err = cipher.NewGCMWithRandomNonce(block); err == nil {
			return sealing
		}
	}
	panic("sealing: " + err.Error()) // only for keys of another length
}

func encrypt(with cipher.AEAD, plain []byte, place string) string {
	return base64.RawURLEncoding.EncodeToString(with.Seal(nil, nil, plain, []byte(place)))
}

func decrypt(with cipher.AEAD, sealed, place string) ([]byte, error) {
	text, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil {
		return nil, ErrUnreadable
	}
	plain, err := with.Open(nil, nil, text, []byte(place))
	if err != nil {
		return nil, ErrUnreadable
	}
	return plain, nil
}
