package rules_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// The order, the bundling and the long names of options are one spelling of the same command.
func TestADenyOfOptionsInAnySpelling(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		glob            string
		denied, allowed []string
	}{
		{
			"rm -rf **",
			[]string{
				"rm -fr x", "rm -r -f x", "rm -f -r x", "rm --recursive --force x", "rm --force --recursive x", "rm --rec --f x", "rm -R --force x", "rm -vrf x", "rm -f -v -r x",
				"rm -r x -f", "rm x -rf", "rm -fr", "sudo rm -f -r x", "/bin/rm -fr x", "bash -c 'rm -fr x'", "cd x && rm -f -r -- y", `rm -fr "$X"`, "rm -f \"$X\" -r", `rm -f 'a b' -r`,
			},
			[]string{"rm -r x", "rm -f x", "rm -v x", "rm --recursive x", "rm -r -- -f", "rm -r 'x -f'", "rm -r x-f", "rm -r --one-f x", "rm -f -- -r x", `rm -r "$X"`, "rm -r a/-f b", "echo -r -f", "srm -r -f x"},
		},
		{"rm -rf /home/**", []string{"rm -fr /home/x", "rm -f -r -v /home/x", "rm /home/x -fr"}, []string{"rm -fr x", "rm -r /home/x"}},
		{"rm -rf **/build", []string{"rm -fr a/build", "rm -f -r build"}, []string{"rm -fr x"}},
		{"rm -rf build", []string{"rm -fr build", "rm build --force -r"}, []string{"rm -rfv build", "rm -fr build x", "rm -fr x"}},
		{"rm ** -rf **", []string{"rm a b -f -r c"}, []string{"rm a -r c"}},
		{"rm -f -- **", []string{"rm x --force", "rm --forc x"}, []string{"rm -r x"}},
		{
			"git push --force **",
			[]string{"git push -f", "git push origin main --force", "git push -uf origin main", "git -C x push origin -f", "git push --forc o", "git push -u origin -f \"$B\""},
			[]string{"git push origin main", "git push --force-with-lease origin", "git push -u origin \"$(git branch --show-current)\"", "git push -ofoo origin", "git push -o -- -f", "git push"},
		},
		{"git push origin --force", []string{"git push -f origin"}, []string{"git push -fu origin", "git push origin"}},
		{"git reset --hard **", []string{"git reset HEAD~1 --hard", "git reset -q --hard", "git reset --har HEAD"}, []string{"git reset --soft HEAD", "git reset hard"}},
		{"git clean -fdx **", []string{"git clean -xdf", "git clean -x --force -d"}, []string{"git clean -fd"}},
		{"chmod -R 777 **", []string{"chmod --recursive 777 x", "chmod -v 777 -R x"}, []string{"chmod 777 x", "chmod -R 755 x"}},
		{"mv -f **", []string{"mv -Tf a b", "mv -T -f a b", "mv a -vTf b"}, []string{"mv -T a b", "mv -tf a", "mv --target-directory=f a"}},
		{"cp -r **", []string{"cp -Tr a b", "cp -TR a b"}, []string{"cp -tr a", "cp -T a b"}},
		{"git branch --delete --force **", []string{"git branch -D x", "git branch -df x", "git branch x -D"}, []string{"git branch -d x", "git branch -f x", "git branch -duMain"}},
		{"git branch -D x", []string{"git branch x -D", "git branch x --delete"}, []string{"git branch x -f"}},
		{"git branch -D **", []string{"git branch -qD x", "git branch -qDux y"}, []string{"git branch -uorigin/dev"}},
		{"git branch --force **", []string{"git branch -D x", "git branch -M a b", "git branch -C a b", "git branch -tf a b"}, []string{"git branch -m a b", "git branch -d x", "git branch -uMain", "git branch -qufix"}},
		{"git branch --move --force **", []string{"git branch -M a b", "git branch -m -f a b"}, []string{"git branch -m a b", "git branch -D x"}},
		{"git checkout -f **", []string{"git checkout -tf origin/x", "git checkout -fbx"}, []string{"git checkout -t origin/x", "git checkout -bhotfix", "git checkout -Bhotfix", "git checkout -qbf"}},
		{"git push -d **", []string{"git push -d o x"}, []string{"git push -od o x"}},
		{"git clean -d **", []string{"git clean -fd"}, []string{"git clean -ed -f"}},
		{"tar -xzf **", nil, []string{"tar -zxf x"}}, // the value of -f is not known to stay
	} {
		for _, command := range test.denied {
			require.Equal(t, api.RuleDeny, decided(t, api.RuleDeny, "bash", map[string]string{"command": test.glob}, map[string]any{"command": command}), "%q, %q", test.glob, command)
		}
		for _, command := range append(test.allowed, "ls", "rm", "git") {
			require.Equal(t, api.RuleAsk, decided(t, api.RuleDeny, "bash", map[string]string{"command": test.glob}, map[string]any{"command": command}), "%q, %q", test.glob, command)
		}
		for _, command := range append(test.denied, test.allowed...) {
			if !rules.MatchGlob(test.glob, command) {
				require.NotEqual(t, api.RuleAllow, decided(t, api.RuleAllow, "bash", map[string]string{"command": test.glob}, map[string]any{"command": command}), "%q, %q", test.glob, command)
			}
		}
	}
}
