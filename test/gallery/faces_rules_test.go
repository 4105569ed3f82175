package gallery

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/test/faces"
	"github.com/holdpoint/holdpoint/test/rig"
)

// remembering are the faces that can remember a decision, with their verbs.
func remembering() map[faces.Face][]faces.Verb {
	all := map[faces.Face][]faces.Verb{}
	for _, face := range faces.All() {
		for _, verb := range []faces.Verb{faces.AllowSession, faces.AllowAlways} {
			if faces.Can(face, faces.Approval, verb) {
				all[face] = append(all[face], verb)
			}
		}
	}
	return all
}

// command is a shell call.
func command(id, line string, with map[string]any) faces.Asked {
	members := map[string]any{"input": map[string]any{"command": line}}
	for name, value := range with {
		members[name] = value
	}
	return faces.Asked{Kind: faces.Approval, ID: id, With: members}
}

// The bug: "Allow always" on a compound command stored "rm *". Here the exact call is remembered on
// every face, and the rule's text says so. Only keys offered by the request make it wider, on faces
// that mean those.
func TestGallery15RememberedCompoundCommand(t *testing.T) {
	onServices(t, func(t *testing.T, s *service) {
		for face, verbs := range remembering() {
			for _, verb := range verbs {
				line := fmt.Sprintf("npm test %s %s && rm -rf build", strings.ReplaceAll(face.Name(), " ", "-"), strings.ReplaceAll(string(verb), " ", "-"))
				held := scene(t, s.faces(t, 0))
				prompt := raise(t, held, command("first", line, nil))[0]
				say(t, s.faces(t, 1), face, prompt, faces.Decision{Verb: verb}, true)
				recorded, err := held.Recorded(rig.Soon(t), held.RunID, "first")
				require.NoError(t, err)
				require.NotNil(t, recorded[0].Rule, "the decision names what it wrote")
				require.Contains(t, recorded[0].Rule.Text, line, "the rule says the whole command")
				took(t, held)

				_, resume, err := held.Raise(rig.Soon(t), false, command("again", line, nil))
				require.NoError(t, err)
				require.NotNil(t, resume, "the very same call is not asked about again: %s, %s", face.Name(), verb)
				require.Equal(t, "rule:"+recorded[0].Rule.RuleID, resume.Approvals[0].Resolution.Via)
				for i, other := range []string{
					"rm -rf build", "rm -rf /", "npm test", line + " dist", strings.Replace(line, "rm -rf build", "rm -rf /", 1), " " + line,
				} {
					id := fmt.Sprintf("other-%d", i)
					asked := raise(t, held, command(id, other, nil))
					require.Equal(t, []string{asked[0].Handle}, open(t, held), "%s, %s: %s", face.Name(), verb, other)
					say(t, s.faces(t, 1), faces.Native{}, asked[0], faces.Decision{Verb: faces.Deny}, true)
					took(t, held)
				}
			}
		}
	})
}

// Line 20 on every face, with rules: the same call with other arguments is a new request, even if
// the first was allowed forever or with an edit.
func TestGallery20OtherArgumentsOnEveryFace(t *testing.T) {
	onServices(t, func(t *testing.T, s *service) {
		pay := func(id string, amount int) faces.Asked {
			return faces.Asked{Kind: faces.Approval, ID: id, With: map[string]any{
				"tool_call_id": "call", "tool_name": "pay", "input": map[string]any{"amount": amount, "to": "ada"},
			}}
		}
		amount := 0
		for _, face := range faces.All() {
			for _, verb := range face.Verbs(faces.Approval) {
				if verb == faces.Deny || verb == faces.Stop {
					continue
				}
				amount += 10
				held := scene(t, s.faces(t, 0))
				prompt := raise(t, held, pay("first", amount))[0]
				prompt.Input = fmt.Sprintf(`{"amount":%d,"to":"ada"}`, amount)
				say(t, s.faces(t, 1), face, prompt, faces.Decision{Verb: verb, Edit: map[string]any{"amount": amount + 1}}, true)
				claim, err := held.Take(rig.Soon(t))
				require.NoError(t, err)
				require.Len(t, claim.Resume.Approvals, 1)
				updated := string(claim.Resume.Approvals[0].Resolution.UpdatedInput)
				if verb == faces.AllowEdited {
					require.JSONEq(t, fmt.Sprintf(`{"amount":%d,"to":"ada"}`, amount+1), updated)
				} else {
					require.Empty(t, updated)
				}

				// The same id is refused; another id waits.
				_, _, err = held.Raise(rig.Soon(t), false, pay("first", amount+2))
				require.ErrorContains(t, err, "id_conflict", "%s, %s", face.Name(), verb)
				for i, other := range []int{amount + 1, amount * 1_000} {
					asked := raise(t, held, pay(fmt.Sprintf("other-%d", i), other))
					require.Equal(t, []string{asked[0].Handle}, open(t, held), "%s, %s", face.Name(), verb)
					say(t, s.faces(t, 1), faces.Native{}, asked[0], faces.Decision{Verb: faces.Deny}, true)
					took(t, held)
				}
			}
		}
	})
}
