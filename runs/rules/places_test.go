package rules_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/rules"
)

func TestPathsAreWhatTheyMean(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ glob, path string }{
		{"src/**", "src/../../etc/passwd"},
		{"src/**", "src/../.env"},
		{"/repo/app/**", "/repo/app/../../home/mara/.ssh/id_rsa"},
		{"src/**", "src/.."},
		{"src/**", `src/..\..\etc`},
		{"src/**", "src/%2e%2e/x"},
		{"src/**", "src/%252e%252e/x"},
		{"src/**", "src/%2e%2e/x%"},
		{"src/**", "src/%zz/%2e%2e/x"},
		{"src/**", "src/%25%32%65%2e/%"},
		{"src/**", "src/．．/x"},
		{"src/**", "src/ .. /x"},
		{"src/**", "src/..\x00/x"},
		{"src/**", "src/a\x00.png"},
		{"src/**", "src/a\u202eb"},
		{"src/../x", "src/../x"},
		{"src/*", `src/a\b`},
		{"src/*/x", "src/./x"},
		{"src/**", "./src/a"},
		{"src/**", "SRC/a"},
		{"src/**", "/src/a"},
		{"/srv/**", "/srv"},
		{"/etc/**", "/private/etc/a"},
		{"https://*.example.com/**", "https://evil.com?x.example.com/"},
		{"https://*.example.com/**", "https://evil.com#.example.com/"},
		{"https://*.example.com/**", "https://evil.com%2f.example.com/"},
		{"https://*.example.com/**", "https://evil.com\uff0f.example.com/"},
		{"https://*.example.com/**", "https://evil.com\u2044.example.com/"},
		{"https://*.example.com/**", "https://u@evil.com#.example.com/a"},
		{"https://x.example.com/public/**", "https://x.example.com/public/../admin"},
		{"https://x.example.com/public/**", "https://x.example.com/public/%2e%2e/admin?q=%"},
	} {
		require.Equal(t, api.RuleAsk, decided(t, api.RuleAllow, "read", map[string]string{"path": test.glob}, map[string]any{"path": test.path}), "%q, %q", test.glob, test.path)
	}
	for _, test := range []struct{ glob, path string }{
		{"src/**/*.ts", "src/a.ts"},
		{"src/**/*", "src/a.ts"},
		{"src/**/*.ts", "src/a/b/c.ts"},
		{"src/**", "src/a..b"},
		{"src/**", "src/a/"},
		{"**/.env", ".env"},
		{"src/**/**/x", "src/x"},
		{"https://*.example.com/**", "https://a.example.com/b?c=d&e#f@g"},
		{"src/**", "src/é"},
		{"src/a b", "src/a b"},
		{"src/**", "src/100%/a%2fb"},
	} {
		require.Equal(t, api.RuleAllow, decided(t, api.RuleAllow, "read", map[string]string{"path": test.glob}, map[string]any{"path": test.path}), "%q, %q", test.glob, test.path)
	}
	for _, test := range []struct{ glob, path string }{
		{"**/.env", ".env"},
		{"**/.env", "a/.env"},
		{"**/.env", "/a/.env"},
		{"**/.env", "./.env"},
		{"**/.env", ".//.env"},
		{"**/.env", "x/../.env"},
		{"**/.env", ".ENV"},
		{"**/.env", " .env"},
		{"**/.env", ".env "},
		{"**/.env", ".env."},
		{"**/.env", ".env\x00.png"},
		{"**/.env", `a\.env`},
		{"**/.env", ".%65nv"},
		{"**/.env", "100%/.%65nv"},
		{"**/.env", "100%/.%2565nv"},
		{"https://x/admin/**", "https://x/%61dmin/a?q=100%"},
		{"**/.env", ".e\u200bnv"},
		{"**/.env", "．ｅｎｖ"},
		{"**/.env", ".env::$DATA"},
		{"**/.env", ".env/"},
		{"**/.env", "a/.env/."},
		{"/etc/**", "/tmp/../etc/passwd"},
		{"/etc/**", "//etc/passwd"},
		{"/etc/**", "/etc/./passwd"},
		{"/etc/**", "/etc"},
		{"/etc/**", "file:///etc/passwd"},
		{"/etc/**", "/ETC/passwd"},
		{"/etc/**", "file:/etc/passwd"},
		{"/etc/**", "FILE:///etc/passwd"},
		{"/etc/**", "file://127.0.0.1/etc/passwd"},
		{"/etc/**", "/proc/self/root/etc/passwd"},
		{"/etc/**", "/proc/1/root/proc/self/task/7/root/etc/passwd"},
		{"/etc/**", "/private/etc/passwd"},
		{"/etc/**", `\\?\etc\passwd`},
		{"/etc/**", "../../../etc/passwd"},
		{".env", "/repo/.env"},
		{"src/secret/**", "/repo/src/secret/x"},
		{"./.env", ".env"},
		{"a/../.env", ".env"},
	} {
		require.Equal(t, api.RuleDeny, decided(t, api.RuleDeny, "read", map[string]string{"path": test.glob}, map[string]any{"path": test.path}), "%q, %q", test.glob, test.path)
	}
	for _, path := range []string{"src/a", ".envrc", "a/.env.d/x", "env"} {
		require.Equal(t, api.RuleAsk, decided(t, api.RuleDeny, "read", map[string]string{"path": "**/.env"}, map[string]any{"path": path}), "%q", path)
	}
	// In a list and in an object, too.
	for _, url := range []string{
		"https://evil.com#.example.com/", "https://evil.com?x.example.com/", "https://u@.example.com/", "https://evil.com\x00.example.com/", "https://evil.com%2f.example.com/", "https://evil.com\\.example.com/",
	} {
		for glob, value := range map[string]any{
			`["https://*.example.com/**"]`: []string{url}, `["x","https://*.example.com/**"]`: []string{"x", url}, `{"url":"https://*.example.com/**"}`: map[string]string{"url": url}, `[["https://*.example.com/**"]]`: [][]string{{url}},
		} {
			for _, member := range []string{"urls", "sites"} {
				require.Equal(t, api.RuleAsk, decided(t, api.RuleAllow, "fetch", map[string]string{member: glob}, map[string]any{member: value}), "%q, %v", glob, value)
			}
		}
	}
	for glob, value := range map[string]any{
		`["https://*.example.com/**"]`: []string{"https://a.example.com/b?c=d&e#f@g"}, `{"url":"https://*.example.com/**"}`: map[string]string{"url": "https://a.example.com/"}, `["src/**","a \"*\""]`: []string{"src/b", `a "b"`},
	} {
		require.Equal(t, api.RuleAllow, decided(t, api.RuleAllow, "fetch", map[string]string{"sites": glob}, map[string]any{"sites": value}), "%q, %v", glob, value)
	}
	require.Equal(t, api.RuleAsk, decided(t, api.RuleAllow, "ci", map[string]string{"steps": `["npm **"]`}, map[string]any{"steps": []string{"npm test; id"}}))
	require.Equal(t, api.RuleAllow, decided(t, api.RuleAllow, "ci", map[string]string{"steps": `["npm **"]`}, map[string]any{"steps": []string{"npm test"}}))
	deny := map[string]string{"paths": "**/.env"}
	require.Equal(t, api.RuleDeny, decided(t, api.RuleDeny, "read", deny, map[string]any{"paths": []string{"a", "b/.env"}}))
	require.Equal(t, api.RuleDeny, decided(t, api.RuleDeny, "read", map[string]string{"path": "/etc/**"}, map[string]any{"path": "passwd", "cwd": "/etc"}))
	require.Equal(t, api.RuleAsk, decided(t, api.RuleAllow, "read", map[string]string{"paths": `["src/**"]`}, map[string]any{"paths": []string{"src/a", "/etc/passwd"}}))
	require.Equal(t, api.RuleAllow, decided(t, api.RuleAllow, "read", map[string]string{"paths": `["src/**"]`}, map[string]any{"paths": []string{"src/a"}}))
}

func TestMembersThatChangeTheMeaningAreNotIgnored(t *testing.T) {
	t.Parallel()
	command := map[string]string{"command": "npm test**"}
	for member, value := range map[string]any{
		"cwd": "/evil", "env": map[string]string{"PATH": "/evil"}, "dangerouslyDisableSandbox": true, "Command": "rm", "cmd": "rm", "args": []string{"x"}, "shell": "/tmp/x", "anything": 1,
		"argv": []string{"rm"},
	} {
		require.Equal(t, api.RuleAsk, decided(t, api.RuleAllow, "bash", command, map[string]any{"command": "npm test", member: value}), "%s", member)
	}
	for member, value := range map[string]any{
		"description": "Run tests", "timeout": 1000, "run_in_background": true, "env": map[string]string{}, "cwd": nil, "argv": []string{"npm", "test"},
	} {
		require.Equal(t, api.RuleAllow, decided(t, api.RuleAllow, "bash", command, map[string]any{"command": "npm test", member: value}), "%s", member)
	}
	require.Equal(t, api.RuleAllow, decided(t, api.RuleAllow, "bash", map[string]string{"command": "npm **", "cwd": "/repo"}, map[string]any{"command": "npm test", "cwd": "/repo"}))
	path := map[string]string{"path": "src/**"}
	for member, value := range map[string]any{"root": "/etc", "cwd": "/", "destination": "/etc/x", "Path": "/etc"} {
		require.Equal(t, api.RuleAsk, decided(t, api.RuleAllow, "edit", path, map[string]any{"path": "src/a", member: value}), "%s", member)
	}
	// Whatever its name is: a member that names a place, or holds one.
	for _, member := range []string{
		"new_path", "newPath", "working_dir", "workspace", "project_root", "base-dir", "old_path", "move_path", "symlink_target", "dst_path", "target_dir", "output_dir", "directory_path",
		"rename_to", "moveTo", "save_as", "repo_url", "backup_file",
	} {
		require.Equal(t, api.RuleAsk, decided(t, api.RuleAllow, "edit", path, map[string]any{"path": "src/a", member: "b"}), "%s", member)
	}
	for _, value := range []any{"/etc/x", "~/x", "../x", `C:\x`, `..\x`, "file:///etc/x", "%2e%2e/x", []string{"a", "/etc/x"}, map[string]any{"a": []any{"/etc/x"}}} {
		for _, member := range []string{"repo", "archive", "include", "options"} {
			require.Equal(t, api.RuleAsk, decided(t, api.RuleAllow, "edit", path, map[string]any{"path": "src/a", member: value}), "%s %v", member, value)
		}
	}
	// The page reads these as edits of several files.
	for _, value := range []any{
		[]any{map[string]any{"old_string": "a", "new_string": "b"}, map[string]any{"path": "lib/x", "old_string": "a", "new_string": "b"}},
		map[string]any{"of": []any{map[string]any{"filePath": "b"}}},
		map[string]any{"paths": []any{"lib/x"}},
	} {
		require.Equal(t, api.RuleAsk, decided(t, api.RuleAllow, "edit", path, map[string]any{"path": "src/a", "edits": value}), "%v", value)
	}
	edits := []any{map[string]any{"old_string": "a", "new_string": "b", "from": 1, "file": "", "to": map[string]any{"line": 2}}}
	require.Equal(t, api.RuleAllow, decided(t, api.RuleAllow, "edit", path, map[string]any{"path": "src/a", "edits": edits}))
	for member, value := range map[string]any{"mode": "r", "encoding": "utf-8", "include": "*.go", "line": 7, "pattern": "a/b", "new_string": "/etc/x", "ratio": 0.5, "profile_id": "x", "recursive": true} {
		require.Equal(t, api.RuleAllow, decided(t, api.RuleAllow, "edit", path, map[string]any{"path": "src/a", member: value}), "%s", member)
	}
	for member, value := range map[string]any{"method": "DELETE", "HTTP-Method": "PUT", "proxy": "x:1", "permissions": "777"} {
		require.Equal(t, api.RuleAsk, decided(t, api.RuleAllow, "fetch", map[string]string{"url": "https://example.com/**"}, map[string]any{"url": "https://example.com/a", member: value}), "%s", member)
	}
	require.Equal(t, api.RuleAllow, decided(t, api.RuleAllow, "fetch", map[string]string{"url": "https://example.com/**"}, map[string]any{"url": "https://example.com/a", "method": "get"}))
	for member, value := range map[string]any{"operation": "delete", "action": "move", "edit_mode": "delete", "overwrite": true} {
		require.Equal(t, api.RuleAsk, decided(t, api.RuleAllow, "edit", path, map[string]any{"path": "src/a", member: value}), "%s", member)
	}
	require.Equal(t, api.RuleAllow, decided(t, api.RuleAllow, "edit", path, map[string]any{"path": "src/a", "overwrite": false}))
	// A deny reads a relative path in each folder that the call names.
	for _, member := range []string{"cwd", "working_dir", "workspace", "projectRoot", "base_dir", "dir", "current_dir", "folder", "directory"} {
		require.Equal(t, api.RuleDeny, decided(t, api.RuleDeny, "read", map[string]string{"path": "/etc/**"}, map[string]any{"path": "passwd", member: "/etc", "a_path": "/x"}), "%s", member)
	}
	many := map[string]any{"path": "passwd", "z_dir": "/etc"}
	for _, letter := range "abcdefghijklmnopqrst" {
		many[string(letter)+"_dir"] = "/" + string(letter)
	}
	etc := map[string]string{"path": "/etc/**"}
	require.Equal(t, api.RuleDeny, decided(t, api.RuleDeny, "read", etc, many), "too many folders")
	many["path"] = "/srv/x"
	require.Equal(t, api.RuleAsk, decided(t, api.RuleDeny, "read", etc, many), "not relative")
	rule := rules.Rule{RuleID: "r", SessionID: rules.AllSessions, ToolName: "read", Effect: api.RuleDeny, Match: api.RuleMatch{Params: etc}}
	for directory, decision := range map[string]api.RuleEffect{"/etc": api.RuleDeny, "/etc/ssh": api.RuleDeny, "/srv": api.RuleAsk, "": api.RuleAsk, "etc": api.RuleAsk} {
		call := rules.Call{ToolName: "read", Input: api.JSON(`{"path":"passwd"}`), Directory: directory}
		require.Equal(t, decision, rules.Explain([]rules.Rule{rule}, call, 0).Decision, directory)
	}
	// A folder is named without a slash at its end as well, and by another beginning.
	for _, test := range []struct{ glob, path, directory string }{
		{"/srv/app/secrets/**", "secrets", "/srv/app"},
		{"/srv/app/secrets/**", "./secrets/", "/srv/app"},
		{"/srv/app/secrets/**", "secrets. ", "/srv/app"},
		{"/srv/app/secrets/**", ".", "/srv/app/secrets"},
		{"/srv/app/secrets/**", "../secrets", "/srv/app/x"},
		{"/etc/**", "/private/etc", ""},
		{"/etc/**", "../../../etc", ""},
		{"/etc/**", "../../../private/etc", ""},
		{"/.ssh/**", "../../.ssh", ""},
		{"/tmp/x/**", "a", "/private/tmp/x"},
		{"/srv/secrets/**", "/srv/secrets.", ""},
	} {
		call := rules.Call{ToolName: "read", Input: document.Encode(map[string]string{"path": test.path}), Directory: test.directory}
		rule.Match.Params = map[string]string{"path": test.glob}
		require.Equal(t, api.RuleDeny, rules.Explain([]rules.Rule{rule}, call, 0).Decision, "%v", test)
	}
	// Other texts are in no folder.
	for _, test := range []struct{ member, glob, text, directory string }{
		{"environment", "**prod**", "staging", "/srv/prod-tools"},
		{"url", "**internal**", "https://example.com", "/home/me/internal-x"},
		{"image_url", "**internal**", "a.png", "/home/me/internal-x"},
		{"body", "**prod**", "hello", "/srv/prod-tools"},
	} {
		for _, effect := range []api.RuleEffect{api.RuleDeny, api.RuleAsk} {
			rule := rules.Rule{RuleID: "r", SessionID: rules.AllSessions, ToolName: "deploy", Effect: effect, Match: api.RuleMatch{Params: map[string]string{test.member: test.glob}}}
			call := rules.Call{ToolName: "deploy", Input: document.Encode(map[string]string{test.member: test.text}), Directory: test.directory}
			require.False(t, rules.Explain([]rules.Rule{rule}, call, 0).Rules[0].Applies, test.member)
		}
		many[test.member] = test.text
		require.Equal(t, api.RuleAsk, decided(t, api.RuleDeny, "deploy", map[string]string{test.member: test.glob}, many), "%s in many folders", test.member)
		delete(many, test.member)
	}
	for member, value := range map[string]any{"old_string": "a", "content": "../x; y", "offset": 3, "replace_all": true} {
		require.Equal(t, api.RuleAllow, decided(t, api.RuleAllow, "edit", path, map[string]any{"path": "src/a", member: value}), "%s", member)
	}
}

// A rule whose text promised less than its glob means today keeps to its text.
func TestAnOldAllowDoesNotWiden(t *testing.T) {
	t.Parallel()
	rule := rules.Rule{
		RuleID: "r", SessionID: rules.AllSessions, ToolName: "read", Effect: api.RuleAllow, Match: api.RuleMatch{Params: map[string]string{"path": "src/**/*.ts"}},
		Text: `Allow the tool read when path matches "src/**/*.ts" (* is any text without a slash, ** is any text), in every session, with no end date.`,
	}
	call := rules.Call{ToolName: "read", Input: api.JSON(`{"path":"src/a.ts"}`)}
	require.Equal(t, api.RuleAsk, rules.Explain([]rules.Rule{rule}, call, 0).Decision)
	rule.Text = rule.Describe(nil)
	require.Equal(t, api.RuleAllow, rules.Explain([]rules.Rule{rule}, call, 0).Decision, rule.Text)
}
