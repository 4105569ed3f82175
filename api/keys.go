package api

// KeySet is the reply of GET /v1/keys: a JWKS (RFC 7517), newest key first. It is enough to verify
// the service's signatures offline.
type KeySet struct {
	Keys []PublicKey `json:"keys"`
	// Ephemeral says that the replica that answers signs with a key that is lost when it ends. What pins a
	// key then refuses everything after a restart.
	Ephemeral bool `json:"ephemeral,omitzero"`
}

// PublicKey is the JWK (RFC 8037) of an Ed25519 key.
type PublicKey struct {
	Kty string `json:"kty"` // "OKP"
	Crv string `json:"crv"` // "Ed25519"
	X   string `json:"x"`   // base64url of 32 bytes
	// Kid is the RFC 7638 thumbprint of the key.
	Kid string `json:"kid"`
	Alg string `json:"alg"` // "EdDSA"
	Use string `json:"use"` // "sig"
}
