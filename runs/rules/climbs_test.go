package rules_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
)

// A server decodes the path of a URL, and the shells of Windows read a backslash as a slash.
func TestNoWildcardOfACommandCoversAWayUp(t *testing.T) {
	t.Parallel()
	const public = "curl https://example.com/public/**"
	for _, test := range []struct{ tool, glob, command string }{
		{"bash", public, "curl https://example.com/public/../admin"},
		{"bash", public, "curl https://example.com/public/%2e%2e/admin"},
		{"bash", public, "curl https://example.com/public/.%2E/admin"},
		{"bash", public, "curl https://example.com/public/%252e%252e/admin"},
		{"bash", public, `curl https://example.com/public/%2"e"%2e/admin`},
		{"bash", public, "curl https://example.com/public/..%2fadmin"},
		{"bash", public, "curl https://example.com/public/a%2f..%2f..%2fadmin"},
		{"bash", public, "curl https://example.com/public/%25252525252e./admin"},
		{"bash", public, "curl https://example.com/public/{.}./admin"},
		{"bash", public, "curl 'https://example.com/public/.{x,.}/admin'"},
		{"bash", public, `curl "https://example.com/public/{..}"`},
		{"bash", "cat src/**", "cat src/../x"},
		{"powershell", `Get-Content src\*`, `Get-Content src\..\x`},
		{"powershell", `Get-Content src\*`, `Get-Content src\..`},
		{"powershell", `Get-Content src\*`, `Get-Content src\a,..\x`},
		{"powershell", `Get-Content src\*`, `Get-Content src\'..'\x`},
		{"powershell", `Get-Content src\*`, `Get-Content src\."."\x`},
		{"powershell", `Get-Content src\*`, `Get-Content src\a -Path:..\x`},
		{"powershell", `Get-Content "src\*"`, `Get-Content "src\..\x"`},
		{"run_cmd", `type src\**`, `type src\a\..\..\x`},
		{"run_cmd", `type ..\src\**`, `type ..\src\..\x`},
	} {
		require.Equal(t, api.RuleAsk, decided(t, api.RuleAllow, test.tool, map[string]string{"command": test.glob}, map[string]any{"command": test.command}), "%q, %q", test.glob, test.command)
	}
	for _, test := range []struct{ tool, glob, command string }{
		{"bash", public, "curl https://example.com/public/a%20b%2fc..d?e=%2e%26f=100%"},
		{"bash", "curl https://example.com/%2e%2e/a -d **", "curl https://example.com/%2e%2e/a -d x"},
		{"bash", "date **", "date +%Y-%m-%d"},
		{"bash", public, "curl https://example.com/public/a -w '%{http_code}' -d '{}' -d '{\"a\": \".\"}'"},
		{"bash", public, "curl https://example.com/public/{}/{id}/a.{x}"},
		{"powershell", `Get-Content src\*`, `Get-Content src\a..b`},
		{"powershell", `Get-Content src\*`, `Get-Content src\.a\b.`},
		{"run_cmd", `type ..\src\**`, `type ..\src\a`},
	} {
		require.Equal(t, api.RuleAllow, decided(t, api.RuleAllow, test.tool, map[string]string{"command": test.glob}, map[string]any{"command": test.command}), "%q, %q", test.glob, test.command)
	}
}
