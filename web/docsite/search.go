package docsite

import (
	"encoding/json"
	"path"
	"slices"

	"github.com/yuin/goldmark/ast"
)

// entry is a search result: a heading with the text below it.
type entry struct {
	Address string `json:"address"`
	Page    string `json:"page"`
	Heading string `json:"heading,omitempty"`
	Text    string `json:"text,omitempty"`
}

// searchIndex returns all entries as JSON. Pages stand in the order of the navigation, in which the search shows what
// fits equally well, so guides come before the changelog, which has nearly every word.
func (s *Site) searchIndex() []byte {
	names := namesOf(s.documents)
	place := map[string]int{} // below 0; a page outside of the navigation comes last
	for _, section := range s.contents() {
		for _, one := range section.Links {
			place[one.Address] = len(place) - len(names)
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return place[addressOf(a)] - place[addressOf(b)] })
	var entries []entry
	for _, name := range names {
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
