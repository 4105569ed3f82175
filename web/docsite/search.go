package docsite

import (
	"encoding/json"
	"path"

	"github.com/yuin/goldmark/ast"
)

// entry is a search result: a heading with the text below it.
type entry struct {
	Address string `json:"address"`
	Page    string `json:"page"`
	Heading string `json:"heading,omitempty"`
	Text    string `json:"text,omitempty"`
}

// searchIndex returns all entries as JSON.
func (s *Site) searchIndex() []byte {
	var entries []entry
	for _, name := range namesOf(s.documents) {
		if path.Ext(name) == ".md" {
			entries = append(entries, s.entriesOf(name)...)
		}
	}
	entries = append(entries, s.reference().entries()...)
	text, err := json.Marshal(entries)
	if err != nil {
		panic(err) // strings always encode
	}
	return text
}

func (s *Site) entriesOf(name string) []entry {
	d := parse(mustRead(s.documents, name), s.rewriter(name))
	title, _ := d.headings()
	entries := []entry{{Address: addressOf(name), Page: title}}
	for node := d.root.FirstChild(); node != nil; node = node.NextSibling() {
		if at, isHeading := node.(*ast.Heading); isHeading {
			if at.Level > 1 {
				entries = append(entries, entry{Address: addressOf(name) + "#" + anchorIn(at), Page: title, Heading: d.plain(at)})
			}
			continue
		}
		if text := d.plain(node); text != "" {
			last := &entries[len(entries)-1]
			if last.Text != "" {
				last.Text += " "
			}
			last.Text += text
		}
	}
	return entries
}
