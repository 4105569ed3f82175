package webhooks

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
)

// secretPrefix is the prefix of a secret.
const secretPrefix = "whsec_"

// secretBytes is the length of a secret, within the 24 to 64 bytes of Standard Webhooks.
const secretBytes = 32

// NewSecret returns a new secret: "whsec_" and base64.
func NewSecret() string {
	var fresh [secretBytes]byte
	_, _ = rand.Read(fresh[:]) // never fails, as documented
	return secretPrefix + base64.StdEncoding.EncodeToString(fresh[:])
}

// SecretOf returns the secret with the bytes of a text.
func SecretOf(text string) string {
	return secretPrefix + base64.StdEncoding.EncodeToString([]byte(text))
}

// Sign returns the value of webhook-signature: a version 1 signature for each secret,
// newest first, separated by spaces.
func Sign(messageID string, atSeconds int64, body []byte, secrets ...string) (string, error) {
	signatures := make([]string, len(secrets))
	for i, secret := range secrets {
		encoded, ok := strings.CutPrefix(secret, secretPrefix)
		key, err := base64.StdEncoding.DecodeString(encoded)
		if !ok || err != nil {
			return "", errors.New("the secret of a webhook is not whsec_ and base64")
		}
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(messageID + "." + strconv.FormatInt(atSeconds, 10) + "."))
		mac.Write(body)
		signatures[i] = "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	return strings.Join(signatures, " "), nil
}
