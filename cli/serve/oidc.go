package serve

import (
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/httpapi/oidc"
)

// clientSecretVariable holds the secret if --oidc-client-secret-file is not given.
const clientSecretVariable = "HOLDPOINT_OIDC_CLIENT_SECRET"

// issuer returns the OIDC provider, nil without --oidc-issuer.
func (c *Command) issuer(terminal *console.Console, logger *slog.Logger) (*oidc.Provider, error) {
	if c.OIDCIssuer == "" {
		return nil, nil
	}
	secret, _ := terminal.LookupEnv(clientSecretVariable)
	if c.OIDCClientSecretFile != "" {
		text, err := os.ReadFile(c.OIDCClientSecretFile)
		if err != nil {
			return nil, console.Usage("--oidc-client-secret-file: %w", err)
		}
		secret = string(text)
	}
	return c.provider(strings.TrimSpace(secret), logger)
}

// provider returns the OIDC provider. It reads and calls nothing.
func (c *Command) provider(secret string, logger *slog.Logger) (*oidc.Provider, error) {
	provider, err := oidc.New(oidc.Options{
		Issuer: c.OIDCIssuer, ClientID: c.OIDCClientID, ClientSecret: secret, Roles: c.OIDCRoles,
		ExternalURL: c.ExternalURL, Now: time.Now, Logger: logger,
	})
	if err != nil {
		return nil, console.Usage("--oidc-issuer: %w", err)
	}
	return provider, nil
}

// checkIssuer refuses OIDC flags without an issuer, flags that no provider takes, and an issuer
// whose users could do nothing.
func (c *Command) checkIssuer() error {
	if c.OIDCIssuer == "" && (c.OIDCClientID != "" || c.OIDCClientSecretFile != "" || len(c.OIDCRoles) > 0) {
		return console.Usage("--oidc-client-id, --oidc-client-secret-file and --oidc-roles need --oidc-issuer")
	}
	if c.OIDCIssuer != "" && c.Auth == authNone {
		return console.Usage("--oidc-issuer needs --auth=auto or required: with none nobody is asked who they are")
	}
	if c.OIDCIssuer == "" {
		return nil
	}
	_, err := c.provider("", slog.New(slog.DiscardHandler))
	return err
}
