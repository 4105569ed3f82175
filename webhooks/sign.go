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

// secretPrefix begins the text of a secret.
const secretPrefix = "whsec_"

// secretBytes is the length of a secret, within the 24 to 64 bytes of Standard Webhooks.
const secretBytes = 32

// NewSecret returns a fresh secret: "whsec_" and base64.
func NewSecret() string {
	var fresh [secretBytes]byte
	_, _ = rand.Read(fresh[:]) // never fails, as its documentation says
	return secretPrefix + base64.StdEncoding.EncodeToString(fresh[:])
}

// SecretOf returns a secret of the bytes of a text.
func SecretOf(text string) string {
	return secretPrefix + base64.StdEncoding.EncodeToString([]byte(text))
}

// Sign returns the value of webhook-signature: a signature of version 1 by each secret, the newest
// first, with a space between.
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
