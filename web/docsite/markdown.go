package docsite

import (
	"bytes"
	"path"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	table "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// repository is the URL for files that are not embedded.
const repository = "https://github.com/holdpoint/holdpoint/blob/main/"

// markdown renders documents. Raw HTML is shown as text, and comments are omitted.
var markdown = goldmark.New(
	goldmark.WithExtensions(extension.Table, extension.Strikethrough),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()),
	goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(nodes{}, 1))),
)

// heading is one heading of a document below its title.
type heading struct {
	Level        int
	Anchor, Text string
}

// document is a parsed document.
type document struct {
	source []byte
	root   ast.Node
}

// parse reads Markdown. rewrite maps the target of each link and image to an address.
func parse(source []byte, rewrite func(target string) string) document {
	d := document{source: source, root: markdown.Parser().Parse(text.NewReader(source), parser.WithContext(parser.NewContext(parser.WithIDs(anchors{}))))}
	d.walk(func(node ast.Node) {
		switch node := node.(type) {
		case *ast.Link:
			node.Destination = []byte(rewrite(string(node.Destination)))
		case *ast.Image:
			node.Destination = []byte(rewrite(string(node.Destination)))
		}
	})
	return d
}

func (d document) walk(visit func(ast.Node)) {
	_ = ast.Walk(d.root, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			visit(node)
		}
		return ast.WalkContinue, nil
	}) // visit returns no error
}

func (d document) html() string {
	var out bytes.Buffer
	_ = markdown.Renderer().Render(&out, d.source, d.root) // a buffer returns no error
	return out.String()
}

// headings returns the title and the other headings.
func (d document) headings() (title string, below []heading) {
	d.walk(func(node ast.Node) {
		at, isHeading := node.(*ast.Heading)
		if !isHeading {
			return
		}
		if at.Level == 1 && title == "" {
			title = d.plain(at)
			return
		}
		below = append(below, heading{Level: at.Level, Anchor: anchorIn(at), Text: d.plain(at)})
	})
	return title, below
}

// plain returns the text of a node.
func (d document) plain(node ast.Node) string {
	var out strings.Builder
	_ = ast.Walk(node, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		switch node := node.(type) {
		case *ast.Text:
			if entering {
				out.Write(node.Segment.Value(d.source))
				if node.SoftLineBreak() || node.HardLineBreak() {
					out.WriteByte(' ')
				}
			}
		case *ast.String:
			if entering {
				out.Write(node.Value)
			}
		case *ast.CodeBlock, *ast.FencedCodeBlock:
			if entering {
				out.Write(node.Lines().Value(d.source))
			}
		case *ast.Paragraph, *ast.TextBlock, *table.TableCell:
			if !entering {
				out.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	}) // visit returns no error
	return strings.Join(strings.Fields(out.String()), " ")
}

func anchorIn(node ast.Node) string {
	id, _ := node.AttributeString("id")
	text, _ := id.([]byte)
	return string(text)
}

// rewriter returns a function that maps a document's link targets to addresses of the site or the
// repository.
func (s *Site) rewriter(name string) func(string) string {
	return func(target string) string {
		if schemed.MatchString(target) || strings.HasPrefix(target, "#") || strings.HasPrefix(target, "/") {
			return target
		}
		file, anchor, _ := strings.Cut(target, "#")
		if anchor != "" {
			anchor = "#" + anchor
		}
		file = path.Join(path.Dir(name), file)
		if file == "openapi.yaml" {
			return referenceRoot + anchor
		}
		if s.files[addressOf(file)] != nil {
			return addressOf(file) + anchor
		}
		return repository + file + anchor
	}
}

var (
	schemed  = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9+.-]*:`)
	linkText = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// anchors generates heading anchors as GitHub does: lower case; letters, digits, hyphens and
// underscores stay, spaces become hyphens, the rest is dropped. Duplicates are numbered.
type anchors map[string]int

// Generate returns the anchor of a heading.
func (a anchors) Generate(value []byte, _ ast.NodeKind) []byte {
	anchor := strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(linkText.ReplaceAllString(string(value), "$1")))
	count := a[anchor]
	a[anchor]++
	if count > 0 {
		anchor += "-" + strconv.Itoa(count)
	}
	return []byte(anchor)
}

// Put reserves an anchor that a document defines itself.
func (a anchors) Put(value []byte) { a[string(value)]++ }

// nodes renders what differs from plain HTML: wide content scrolls by itself and with the keyboard,
// headings link to themselves, and HTML is text.
type nodes struct{}

// RegisterFuncs registers the render functions.
func (n nodes) RegisterFuncs(register renderer.NodeRendererFuncRegisterer) {
	register.Register(ast.KindHTMLBlock, n.htmlBlock)
	register.Register(ast.KindRawHTML, n.rawHTML)
	register.Register(ast.KindCodeBlock, n.code)
	register.Register(ast.KindFencedCodeBlock, n.code)
	register.Register(ast.KindHeading, n.heading)
	register.Register(table.KindTable, n.table)
	register.Register(table.KindTableCell, n.tableCell)
}

func (nodes) htmlBlock(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	block, _ := node.(*ast.HTMLBlock)
	if !entering {
		return ast.WalkContinue, nil
	}
	value := block.Lines().Value(source)
	if block.HasClosure() {
		value = append(bytes.Clone(value), block.ClosureLine.Value(source)...)
	}
	if shown := withoutComments(value); len(shown) > 0 {
		_, _ = w.WriteString("<p>")
		_, _ = w.Write(util.EscapeHTML(shown))
		_, _ = w.WriteString("</p>\n")
	}
	return ast.WalkContinue, nil
}

func (nodes) rawHTML(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if raw, isRaw := node.(*ast.RawHTML); isRaw && entering {
		_, _ = w.Write(util.EscapeHTML(withoutComments(raw.Segments.Value(source))))
	}
	return ast.WalkSkipChildren, nil
}

var comments = regexp.MustCompile(`(?s)<!--.*?-->`)

func withoutComments(value []byte) []byte { return bytes.TrimSpace(comments.ReplaceAll(value, nil)) }

func (nodes) code(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if block, isFenced := node.(*ast.FencedCodeBlock); isFenced && entering {
		if drawn, able := stateTable(block, source); able {
			_, _ = w.Write(drawn)
			return ast.WalkSkipChildren, nil
		}
	}
	if entering {
		_, _ = w.WriteString(`<pre tabindex="0"><code>`)
		_, _ = w.Write(util.EscapeHTML(node.Lines().Value(source)))
		_, _ = w.WriteString("</code></pre>\n")
	}
	return ast.WalkSkipChildren, nil
}

func (nodes) heading(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	at, _ := node.(*ast.Heading)
	tag, anchor := "h"+strconv.Itoa(at.Level), string(util.EscapeHTML([]byte(anchorIn(at))))
	switch {
	case entering:
		_, _ = w.WriteString("<" + tag + ` id="` + anchor + `">`)
	case at.Level > 1:
		_, _ = w.WriteString(` <a class="anchor" href="#` + anchor + `" aria-label="Link to this heading">#</a></` + tag + ">\n")
	default:
		_, _ = w.WriteString("</" + tag + ">\n")
	}
	return ast.WalkContinue, nil
}

func (nodes) table(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		_, _ = w.WriteString(`<div class="table" tabindex="0" role="group" aria-label="Table"><table>` + "\n")
	} else {
		_, _ = w.WriteString("</table></div>\n")
	}
	return ast.WalkContinue, nil
}

// tableCell draws an empty cell of a table's head as "td": a "th" without text names no column.
func (nodes) tableCell(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	cell, _ := node.(*table.TableCell)
	tag := "td"
	if cell.Parent().Kind() == table.KindTableHeader && cell.HasChildren() {
		tag = "th"
	}
	switch {
	case !entering:
		_, _ = w.WriteString("</" + tag + ">\n")
	case cell.Alignment == table.AlignNone:
		_, _ = w.WriteString("<" + tag + ">")
	default:
		_, _ = w.WriteString("<" + tag + ` align="` + cell.Alignment.String() + `">`)
	}
	return ast.WalkContinue, nil
}
