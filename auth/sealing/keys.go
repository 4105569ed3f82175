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
	"io/fs"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/holdpoint/holdpoint/auth/keyfile"
)

// KeyBytes is the length of a key and of a data key.
const KeyBytes = 32

// MaxKeys is the maximum number of configured keys.
const MaxKeys = 32

// version is the prefix of every wrapped data key.
const version = "v1"

// Keys are the operator's keys. The first one encrypts; all of them decrypt. They are safe for
// concurrent use.
type Keys struct {
	set atomic.Pointer[keySet]
	// source returns the text of the keys; nil when it cannot change.
	source func() (string, error)
	mu     sync.Mutex // one read at a time
}

// keySet is immutable.
type keySet struct {
	first string
	byID  map[string]*key
}

type key struct {
	wrap        cipher.AEAD
	fingerprint []byte
}

var keyID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Parse reads keys, one a line, each "[id:]base64 of 32 bytes". Empty lines and lines that begin
// with # are skipped. A key without an id gets the first 8 hexadecimal digits of its SHA-256.
// Errors name the line and never show a part of a key.
func Parse(text string) (*Keys, error) {
	set, err := readSet(text)
	if err != nil {
		return nil, err
	}
	keys := &Keys{}
	keys.set.Store(set)
	return keys, nil
}

// Read is [Parse] for the text of a source. The source is read again when an unknown key is needed;
// see [Keys.Reload].
func Read(source func() (string, error)) (*Keys, error) {
	text, err := source()
	if err != nil {
		return nil, err
	}
	keys, err := Parse(text)
	if err != nil {
		return nil, err
	}
	keys.source = source
	return keys, nil
}

// Load is [ReadFile], but a missing file is created with one new key and mode 0600. When several
// processes create it at once, all of them get the same key.
func Load(path string) (*Keys, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		var secret [KeyBytes]byte
		_, _ = rand.Read(secret[:]) // never fails, as its documentation says
		if err := keyfile.Create(path, []byte(base64.StdEncoding.EncodeToString(secret[:])+"\n")); err != nil {
			return nil, fmt.Errorf("create the secret key file: %w", err)
		}
	}
	return ReadFile(path)
}

// ReadFile is [Read] for a file.
func ReadFile(path string) (*Keys, error) {
	return Read(func() (string, error) {
		text, err := os.ReadFile(path)
		return string(text), err
	})
}

// Reload reads the source again and adds its keys; its first key encrypts from then on. A key that
// was removed from the source still decrypts until the process ends. After an error nothing has
// changed. Without a source Reload does nothing.
func (k *Keys) Reload() error {
	if k.source == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	text, err := k.source()
	if err != nil {
		return err
	}
	read, err := readSet(text)
	if err != nil {
		return err
	}
	for id, known := range k.set.Load().byID {
		if read.byID[id] == nil {
			read.byID[id] = known
		}
	}
	k.set.Store(read)
	return nil
}

// Opens reports whether a data key can be unwrapped with the loaded keys, by the id of its key. It
// does not read the source.
func (k *Keys) Opens(wrapped string) bool { return k.set.Load().byID[KeyIDOf(wrapped)] != nil }

// keyOf returns a key. An unknown key causes a reload of the source.
func (k *Keys) keyOf(id string) *key {
	if known := k.set.Load().byID[id]; known != nil {
		return known
	}
	if err := k.Reload(); err != nil {
		return nil
	}
	return k.set.Load().byID[id]
}

func readSet(text string) (*keySet, error) {
	keys := &keySet{byID: map[string]*key{}}
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
			return nil, fmt.Errorf("line %d: duplicate key %s", number, id)
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

// decode accepts base64 and base64url, with and without padding.
func decode(text string) ([]byte, error) {
	text = strings.TrimRight(strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimSpace(text)), "=")
	secret, err := base64.RawStdEncoding.Strict().DecodeString(text)
	if err == nil && len(secret) != KeyBytes {
		err = errors.New("not the length of a key")
	}
	return secret, err
}

// First returns the id of the key that encrypts.
func (k *Keys) First() string { return k.set.Load().first }

// KeyIDOf returns the id of the key that a data key is wrapped with; "" for an invalid one.
func KeyIDOf(wrapped string) string {
	parts := strings.Split(wrapped, ".")
	if len(parts) != 3 || parts[0] != version {
		return ""
	}
	return parts[1]
}

// NewDataKey returns a new data key, wrapped with the first key.
func (k *Keys) NewDataKey() string {
	var fresh [KeyBytes]byte
	_, _ = rand.Read(fresh[:]) // never fails, as its documentation says
	return k.wrapped(fresh[:])
}

func (k *Keys) wrapped(dataKey []byte) string {
	set := k.set.Load()
	return version + "." + set.first + "." + encrypt(set.byID[set.first].wrap, dataKey, version+"."+set.first)
}

// ErrUnreadable says that a text was not sealed with the key that it names, was changed, or belongs to
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
	key := k.keyOf(id)
	if key == nil {
		return nil, &UnknownKeyError{KeyID: id}
	}
	_, sealed, _ := strings.Cut(wrapped[len(version)+1:], ".")
	return decrypt(key.wrap, sealed, version+"."+id)
}

// Rewrap returns the same data key wrapped with the first key. A data key that already is wrapped
// with it is returned unchanged. Errors: [UnknownKeyError], [ErrUnreadable].
func (k *Keys) Rewrap(wrapped string) (string, error) {
	dataKey, err := k.unwrap(wrapped)
	if err != nil || KeyIDOf(wrapped) == k.First() {
		return wrapped, err
	}
	return k.wrapped(dataKey), nil
}

// Seal encrypts a value under a wrapped data key. The place binds the value to its location and
// must be the same for [Keys.Open]. Errors: [UnknownKeyError], [ErrUnreadable].
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

// Fingerprint returns the hexadecimal HMAC-SHA-256 of a text with the first key. It identifies a
// repeated call before its run is known.
func (k *Keys) Fingerprint(text []byte) string {
	set := k.set.Load()
	return mac(set.byID[set.first].fingerprint, text)
}

func mac(key, text []byte) string {
	sum := hmac.New(sha256.New, key)
	sum.Write(text)
	return hex.EncodeToString(sum.Sum(nil))
}

// derive returns a key for one purpose, so that no key serves two purposes.
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
