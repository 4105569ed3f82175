package oidc

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// maxSkew is how far the clocks of the issuer and of other replicas may be ahead. A token issued later would
// outlive its revocation.
const maxSkew = time.Minute

// claims are the claims of a verified ID token.
type claims struct {
	*oidc.IDToken
	groups          []string
	authorizedParty string
}

// checkHeader refuses a token whose header names another type. Issuers sign access tokens (at+jwt)
// and logout tokens (logout+jwt) with the same keys and for the same audience.
func checkHeader(raw string) error {
	first, _, _ := strings.Cut(raw, ".")
	text, err := base64.RawURLEncoding.DecodeString(first)
	if err != nil {
		return errors.New("the header is not base64url")
	}
	var header struct {
		Type string `json:"typ"`
	}
	if err := json.Unmarshal(text, &header); err != nil {
		return errors.New("the header is not JSON")
	}
	if kind := strings.TrimPrefix(strings.ToLower(header.Type), "application/"); kind != "" && kind != "jwt" {
		return fmt.Errorf("a token of type %.40q is not an ID token", header.Type)
	}
	return nil
}

// claimsOf reads the claims and checks those that the library does not check.
func claimsOf(token *oidc.IDToken, now time.Time) (*claims, error) {
	c := &claims{IDToken: token}
	var more struct {
		Groups any            `json:"groups"`
		Party  string         `json:"azp"`
		Type   any            `json:"typ"`
		Events jsontext.Value `json:"events"`
	}
	if err := token.Claims(&more); err != nil {
		return nil, err
	}
	kind, _ := more.Type.(string)
	switch {
	case len(more.Events) > 0:
		return nil, errors.New("a token with events is a logout token")
	case slices.Contains(otherTypes, strings.ToLower(kind)):
		return nil, fmt.Errorf("a token of type %q is not an ID token", kind)
	case token.IssuedAt.Unix() <= 0:
		return nil, errors.New("the token does not say when it was issued")
	case token.IssuedAt.After(now.Add(maxSkew)):
		return nil, errors.New("the token was issued in the future")
	case len(token.Audience) > 1 && more.Party == "":
		return nil, errors.New("the token is for several audiences and does not name the program it was issued to")
	}
	c.authorizedParty = more.Party
	switch groups := more.Groups.(type) {
	case string:
		c.groups = []string{groups}
	case []any:
		for _, group := range groups {
			if name, ok := group.(string); ok {
				c.groups = append(c.groups, name)
			}
		}
	}
	return c, nil
}

// otherTypes are Keycloak's typ claims of tokens that are not ID tokens.
var otherTypes = []string{"bearer", "refresh", "offline", "logout"}

// foreign reports whether the token was issued to another client.
func (c *claims) foreign(clientID string) bool {
	return c.authorizedParty != "" && c.authorizedParty != clientID
}
