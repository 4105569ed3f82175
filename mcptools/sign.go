package mcptools

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strings"
)

// KeySigner is a [Signer] for processes that share a secret key.
type KeySigner struct{ key []byte }

// NewKeySigner returns a signer. Keep the key secret.
func NewKeySigner(key []byte) *KeySigner { return &KeySigner{key} }

// ErrUnsigned is wrapped by a [Signer]'s error for a text that it did not sign for this purpose.
var ErrUnsigned = errors.New("the signature does not hold")

var spelling = base64.RawURLEncoding.Strict()

// Sign implements [Signer].
func (k *KeySigner) Sign(purpose string, payload []byte) (string, error) {
	return spelling.EncodeToString(payload) + "." + spelling.EncodeToString(k.sum(purpose, payload)), nil
}

// Verify implements [Signer].
func (k *KeySigner) Verify(_ context.Context, purpose, text string) ([]byte, error) {
	said, signature, _ := strings.Cut(text, ".")
	payload, err := spelling.DecodeString(said)
	if err != nil {
		return nil, ErrUnsigned
	}
	sum, err := spelling.DecodeString(signature)
	if err != nil || !hmac.Equal(sum, k.sum(purpose, payload)) {
		return nil, ErrUnsigned
	}
	return payload, nil
}

func (k *KeySigner) sum(purpose string, payload []byte) []byte {
	sum := hmac.New(sha256.New, k.key)
	_, _ = sum.Write([]byte(purpose + "\x00")) // a hash returns no error
	_, _ = sum.Write(payload)
	return sum.Sum(nil)
}
