package docsite

import (
	"bytes"
	"html/template"
	"path"

	"github.com/yuin/goldmark/ast"
)

// index is the first page. Its headings and the links in its lists form the navigation.
const index = "docs/index.md"

// section is a section of the navigation.
type section struct {
	Name  string
	Links []link
}

type link struct{ Address, Text string }

// page is the data of the layout.
type page struct {
	Title, Address string
	Body           template.HTML
	Contents       []section
	Headings       []heading
	Before, After  *link
	// Source is the address of the Markdown document, for programs.
	Source string
}

type layout struct{ *template.Template }

func parseLayout() layout {
	return layout{template.Must(template.ParseFS(assets, "assets/layout.html"))}
}

func (s *Site) readContents() []section {
	d := parse(mustRead(s.documents, index), s.rewriter(index))
	var sections []section
	d.walk(func(node ast.Node) {
		switch node := node.(type) {
		case *ast.Heading:
			if node.Level == 2 {
				sections = append(sections, section{Name: d.plain(node)})
			}
		case *ast.Link:
			// Only the first link of an item is its page.
			item := node.Parent()
			if len(sections) == 0 || item == nil || item.FirstChild() != node || item.Parent() == nil || item.Parent().Kind() != ast.KindListItem {
				return
			}
			last := &sections[len(sections)-1]
			last.Links = append(last.Links, link{Address: string(node.Destination), Text: d.plain(node)})
		}
	})
	return sections
}

// show renders a page with the layout.
func (s *Site) show(p page) []byte {
	p.Contents = s.contents()
	all := []link{{Address: Root, Text: "Documents"}}
	for _, one := range p.Contents {
		all = append(all, one.Links...)
	}
	for i, at := range all {
		if at.Address != p.Address {
			continue
		}
		if i > 0 {
			p.Before = &all[i-1]
		}
		if i+1 < len(all) {
			p.After = &all[i+1]
		}
	}
	var out bytes.Buffer
	if err := s.layout().Execute(&out, p); err != nil {
		panic(err) // page has every member that the layout uses
	}
	return out.Bytes()
}

func (s *Site) markdownPage(name string) []byte {
	d := parse(mustRead(s.documents, name), s.rewriter(name))
	title, below := d.headings()
	p := page{Title: title, Address: addressOf(name), Body: template.HTML(d.html()), Headings: upTo(2, below)} //nolint:gosec // rendered without raw HTML
	if p.Address != Root {
		p.Source = p.Address + ".md"
	}
	return s.show(p)
}

func upTo(level int, all []heading) []heading {
	var some []heading
	for _, one := range all {
		if one.Level <= level {
			some = append(some, one)
		}
	}
	return some
}

// sourcePage renders a file as source text.
func (s *Site) sourcePage(name string) []byte {
	body := `<h1>` + template.HTMLEscapeString(path.Base(name)) + `</h1><p><code>` + template.HTMLEscapeString(name) + `</code></p>` +
		`<pre tabindex="0"><code>` + template.HTMLEscapeString(string(mustRead(s.documents, name))) + `</code></pre>`
	return s.show(page{Title: path.Base(name), Address: addressOf(name), Body: template.HTML(body)}) //nolint:gosec // escaped above
}

func (s *Site) missingPage() []byte {
	body := template.HTML(`<h1>There is no such page</h1><p>Search, or begin at the <a href="` + Root + `">first page</a>.</p>`)
	return s.show(page{Title: "Not found", Body: body})
}
