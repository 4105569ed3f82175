package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"hash/crc32"
	"math/big"
	"strings"
)

// A secret is SecretPrefix, 43 base62 characters for 256 random bits, and 6 for the CRC-32 (IEEE)
// of everything before. Secret scanners can find it in a text, and a typing error is detected
// without a database look-up.
//
// The secret in a link has LinkPrefix instead, so it never works as a token.
const (
	SecretPrefix   = "holdpoint_"
	LinkPrefix     = "hplink_"
	randomLength   = 43
	checksumLength = 6
	hintLength     = 4
)

const base62Digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// NewSecret returns a new secret. It never fails: without randomness the process ends.
func NewSecret() string { return newSecret(SecretPrefix) }

// NewLinkSecret returns a new secret for a link.
func NewLinkSecret() string { return newSecret(LinkPrefix) }

func newSecret(prefix string) string {
	var random [32]byte
	_, _ = rand.Read(random[:]) // never fails, as its documentation says
	body := prefix + base62(new(big.Int).SetBytes(random[:]), randomLength)
	return body + checksum(body)
}

// WellFormed reports whether a text has the form of a secret and a correct checksum.
func WellFormed(secret string) bool { return wellFormed(SecretPrefix, secret) }

// WellFormedLink is WellFormed for the secret of a link.
func WellFormedLink(secret string) bool { return wellFormed(LinkPrefix, secret) }

func wellFormed(prefix, secret string) bool {
	rest, found := strings.CutPrefix(secret, prefix)
	if !found || len(rest) != randomLength+checksumLength {
		return false
	}
	for _, c := range []byte(rest) {
		if strings.IndexByte(base62Digits, c) < 0 {
			return false
		}
	}
	body := secret[:len(secret)-checksumLength]
	return secret[len(body):] == checksum(body)
}

// HashOf returns the hexadecimal SHA-256 of a text. The database stores the hash of a secret, and
// look-ups use it, so their timing reveals nothing about the secret.
func HashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// HintOf returns the first characters of the random part, which identify the secret to people and
// in logs; "" for a text that does not begin like a secret.
func HintOf(secret string) string {
	random, found := strings.CutPrefix(secret, SecretPrefix)
	if !found || len(random) < hintLength {
		return ""
	}
	hint := random[:hintLength]
	for _, c := range []byte(hint) {
		if strings.IndexByte(base62Digits, c) < 0 {
			return ""
		}
	}
	return hint
}

func checksum(body string) string {
	return base62(big.NewInt(int64(crc32.ChecksumIEEE([]byte(body)))), checksumLength)
}

// base62 formats a number in base 62 with leading zeros.
func base62(number *big.Int, length int) string {
	digits := make([]byte, length)
	base, digit := big.NewInt(int64(len(base62Digits))), new(big.Int)
	for i := length - 1; i >= 0; i-- {
		number.DivMod(number, base, digit)
		digits[i] = base62Digits[digit.Int64()]
	}
	return string(digits)
}
