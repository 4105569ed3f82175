package rules_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
)

// A program reads another host than the one that a rule names, or only some programs read that one.
func TestNoWildcardCoversAnotherHost(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ glob, command string }{
		{"curl http://localhost:*/**", "curl http://localhost:80@evil.com/"},
		{"curl http://localhost:*/**", "curl http://localhost:80 evil.com/"},
		{"curl http://localhost:**", "curl http://localhost:80@evil.com/"},
		{"curl http://localhost:**", "curl http://localhost:80\\@evil.com/"},
		{"curl http://localhost:**", `curl http://localhost:80"@evil.com/"`},
		{"curl http://localhost:**", `curl 'http://localhost:80'@evil.com/`},
		{"curl http://localhost:300?/**", "curl http://localhost:300@evil.com/"},
		{"curl https://*.example.com/**", "curl https://evil.com#.example.com/x"},
		{"curl https://*.example.com/**", "curl https://evil.com?.example.com/x"},
		{"curl https://*.example.com/**", `curl https://evil.com\?.example.com/x`},
		{"curl https://*.example.com/**", `curl https://evil.com"#".example.com/x`},
		{"curl https://*.example.com/**", "curl https://evil.com:80.example.com/x"},
		{"curl https://*.example.com/**", "curl https://evil.com%2f.example.com/x"},
		{"curl https://*.example.com/**", "curl https://evil.com .example.com/x"},
		{"curl https://*.example.com/**", "curl https://evil.com -x .example.com/x"},
		{"curl ** https://*.example.com/**", "curl -s https://evil.com#.example.com/x"},
		{"curl ** https://*.example.com/**", "curl x://a https://evil.com#.example.com/x"},
		{"curl https://*.example.com -d **", "curl https://evil.com#.example.com -d x"},
		{"curl https://** https://*.example.com/**", "curl https://a/ https://evil.com#.example.com/x"},
		{"git clone https://*.example.com/**", "git clone https://u@evil.com?.example.com/x"},
		{"curl https://*.example.com:*", "curl https://evil.com#.example.com:80"},
		{"curl https://*.example.com**", "curl https://evil.com?.example.com"},
		{"curl https://*.example.com?q=*", "curl https://evil.com?.example.com?q=1"},
		{"curl https://a?*.example.com?q=*", "curl https://ab.com#.example.com?q=1"},
		{"curl http://localhost:** https://*.example.com/**", "curl http://localhost:80 https://evil.com#.example.com/"},
		{"curl https://*.example.com/**", "curl https://[::1]?.example.com/x"},
	} {
		require.Equal(t, api.RuleAsk, decided(t, api.RuleAllow, "bash", map[string]string{"command": test.glob}, map[string]any{"command": test.command}), "%q, %q", test.glob, test.command)
	}
	for _, test := range []struct{ glob, command string }{
		{"curl http://localhost:*/**", "curl http://localhost:3000/x?y=a@b#c"},
		{"curl http://localhost:*/**", "curl http://localhost:3000/x -H 'a: b@c'"},
		{"curl http://localhost:**", "curl http://localhost:3000/x"},
		{"curl http://localhost:**", "curl http://localhost:3000 -d a@b"},
		{"curl http://localhost:*", "curl http://localhost:3000?a=b@c"},
		{"curl http://localhost:300?/**", "curl http://localhost:3001/x"},
		{`curl "http://localhost:**`, `curl "http://localhost:3000" -d x=1`},
		{"curl http://localhost:3000/**", "curl http://localhost:3000/x"},
		{"curl http://localhost:3000**", "curl http://localhost:3000 -s"},
		{"curl https://*.example.com/**", "curl https://a.b-c_d.example.com/x"},
		{"curl https://*.example.com/**", "curl https://café.example.com/x"},
		{"curl https://*.example.com/**", "curl https://a.example.com/x --referer https://b.example.org/?c=d@e"},
		{"curl https://*.example.com:*/**", "curl https://a.example.com:8443/x"},
		{"curl https://*.example.com -d **", "curl https://a.example.com -d @x"},
		{"curl https://u:*@*.example.com/**", "curl https://u:12@a.example.com/x"},
		{"curl http://[::1]:*/**", "curl http://[::1]:80/x"},
		{"curl https://api.example.com?q=1", "curl https://api.example.com?q=1"},
		{"curl https://api.example.com?q=*", "curl https://api.example.com?q=1"},
		{"curl https://api.example.com/x **", "curl https://api.example.com/x --referer https://u:p@b.example -s"},
		{"git clone ssh://git@github.com:org/*", "git clone ssh://git@github.com:org/x"},
		{"curl https://**", "curl https://u:p@example.com?x=1 -s"},
		{"curl **", "curl https://u:p@example.com?x=1 -s"},
		{"git **", "git clone ssh://git@example.com:22/x"},
	} {
		require.Equal(t, api.RuleAllow, decided(t, api.RuleAllow, "bash", map[string]string{"command": test.glob}, map[string]any{"command": test.command}), "%q, %q", test.glob, test.command)
	}
	for _, url := range []string{
		"https://evil.com;.example.com/x", "https://evil.com:80.example.com/x", "https://evil.com'.example.com/x", "https://evil.com .example.com/x",
		"https://evil.com|.example.com/x", "https://evil.com\u037e.example.com/x", "https://evil.com,.example.com/x", "https://evil.com\".example.com/x",
	} {
		require.Equal(t, api.RuleAsk, decided(t, api.RuleAllow, "fetch", map[string]string{"url": "https://*.example.com/**"}, map[string]any{"url": url}), "%q", url)
		require.Equal(t, api.RuleAsk, decided(t, api.RuleAllow, "fetch", map[string]string{"urls": `["https://*.example.com/**"]`}, map[string]any{"urls": []string{url}}), "%q", url)
	}
	for _, test := range []struct{ glob, url string }{
		{"https://*.example.com/**", "https://a.b-c_d.example.com/x;y:z"},
		{"https://*.example.com:*/**", "https://a.example.com:8443/x"},
		{"http://localhost:**", "http://localhost:3000/x"},
		{"http://localhost:*", "http://localhost:3000"},
		{"https://*.example.com/**", "https://a.example.com/?next=https://u:p@b.example.org?c;d"},
		{"https://**", "https://example.com:8443/x"},
		{"https://**", "https://[::1]:8443/x"},
		{"http://[::1]:*/**", "http://[::1]:3000/x"},
	} {
		require.Equal(t, api.RuleAllow, decided(t, api.RuleAllow, "fetch", map[string]string{"url": test.glob}, map[string]any{"url": test.url}), "%q, %q", test.glob, test.url)
	}
}

// A tool puts the name of a host into a URL, or among the words of ssh.
func TestNoWildcardCoversMoreThanTheNameOfAHost(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"ssh", "run_remote"} {
		for _, test := range []struct{ glob, host string }{
			{"*.staging.example", "evil.example#.staging.example"},
			{"*.staging.example", "evil.example?.staging.example"},
			{"*.staging.example", "-oProxyCommand=rm x.staging.example"},
			{"*.staging.example", "evil.example x.staging.example"},
			{"**.staging.example", "evil.example/x.staging.example"},
			{"staging-*", "staging-1@evil.example"},
			{"staging-?", "staging-@"},
			{"*.staging.example", "-Fx.staging.example"},
		} {
			for _, name := range []string{"host", "hostName", "target_host", "domain"} {
				require.Equal(t, api.RuleAsk, decided(t, api.RuleAllow, tool, map[string]string{name: test.glob}, map[string]any{name: test.host}), "%s, %q, %q", tool, test.glob, test.host)
			}
		}
		for _, test := range []struct{ glob, host string }{
			{"*.staging.example", "a.b-1.staging.example"},
			{"*.staging.example:*", "a.staging.example:22"},
			{"staging-?", "staging-1"},
			{"*@staging.example", "deploy@staging.example"},
			{"**", "u@evil.example"},
			{"https://*.staging.example/**", "https://a.staging.example/x"},
			{"git@staging.example:org/*", "git@staging.example:org/x"},
			{"*/main", "staging/main"},
		} {
			require.Equal(t, api.RuleAllow, decided(t, api.RuleAllow, tool, map[string]string{"host": test.glob}, map[string]any{"host": test.host}), "%s, %q, %q", tool, test.glob, test.host)
		}
	}
	hosts := map[string]string{"hosts": `["*.staging.example"]`}
	require.Equal(t, api.RuleAsk, decided(t, api.RuleAllow, "post", hosts, map[string]any{"hosts": []string{"evil.example#.staging.example"}}))
	require.Equal(t, api.RuleAllow, decided(t, api.RuleAllow, "post", hosts, map[string]any{"hosts": []string{"a.staging.example"}}))
	require.Equal(t, api.RuleAllow, decided(t, api.RuleAllow, "post", map[string]string{"ghost": "a*"}, map[string]any{"ghost": "a b@c"}))
}
