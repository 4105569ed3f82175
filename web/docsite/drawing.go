package docsite

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/util"
)

// move is a line of a state diagram, "FROM --> TO : WHY".
var move = regexp.MustCompile(`^(\[\*\]|\w+) --> (\[\*\]|\w+)(?: : (.+))?$`)

// stateTable returns the transitions of a Mermaid state diagram as a table, because the site draws
// no diagrams and screen readers read tables better. It returns false for any other block.
func stateTable(block *ast.FencedCodeBlock, source []byte) ([]byte, bool) {
	if string(block.Language(source)) != "mermaid" {
		return nil, false
	}
	lines := strings.Split(strings.TrimSpace(string(block.Lines().Value(source))), "\n")
	if lines[0] != "stateDiagram-v2" {
		return nil, false
	}
	var out bytes.Buffer
	out.WriteString(`<div class="table" tabindex="0" role="group" aria-label="State diagram"><table>` + "\n<thead><tr><th>from</th><th>to</th><th>when</th></tr></thead>\n<tbody>\n")
	for _, line := range lines[1:] {
		part := move.FindStringSubmatch(strings.TrimSpace(line))
		if part == nil {
			return nil, false
		}
		out.WriteString("<tr><td>" + state(part[1], "the beginning") + "</td><td>" + state(part[2], "the end") + "</td><td>" + escaped(part[3]) + "</td></tr>\n")
	}
	out.WriteString("</tbody></table></div>\n")
	return out.Bytes(), true
}

// state returns a state's name, or the given name for the diagram's start or end.
func state(name, end string) string {
	if name == "[*]" {
		return end
	}
	return "<code>" + escaped(name) + "</code>"
}

func escaped(text string) string { return string(util.EscapeHTML([]byte(text))) }
