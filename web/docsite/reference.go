package docsite

import (
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"
)

// referenceRoot is the address of the API reference. Each tag has a page below it, and all schemas
// share one.
const referenceRoot = Root + "/api"

const schemasPage = referenceRoot + "/schemas"

// object is a JSON object of the OpenAPI description.
type object = map[string]any

// reference is the OpenAPI description, prepared for its pages.
type reference struct {
	whole object
	tags  []tag
	// titles are the page titles by address; files are the rendered pages.
	titles map[string]string
	files  map[string]*file
}

type tag struct {
	Name, Description string
	Operations        []operation
}

type operation struct {
	ID, Method, Path, Summary string
	whole                     object
	// shared are the parameters that all methods of the path have.
	shared []any
}

// methods are in display order.
var methods = []string{"get", "post", "put", "patch", "delete"}

func newReference(api []byte) *reference {
	r := &reference{files: map[string]*file{}, titles: map[string]string{referenceRoot: "API reference", schemasPage: "Schemas"}}
	if err := json.Unmarshal(api, &r.whole); err != nil {
		panic(err) // the description is embedded
	}
	for _, one := range list(r.whole["tags"]) {
		described, _ := one.(object)
		r.tags = append(r.tags, tag{Name: textOf(described["name"]), Description: textOf(described["description"])})
	}
	paths := dig(r.whole, "paths")
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		item, _ := paths[path].(object)
		for _, method := range methods {
			whole, given := item[method].(object)
			if !given {
				continue
			}
			r.add(operation{
				ID: textOf(whole["operationId"]), Method: strings.ToUpper(method), Path: path, Summary: textOf(whole["summary"]),
				whole: whole, shared: list(item["parameters"]),
			})
		}
	}
	for _, one := range r.tags {
		r.titles[pageOf(one.Name)] = strings.ToUpper(one.Name[:1]) + one.Name[1:]
	}
	return r
}

func (s *Site) readReference() *reference {
	r := newReference(s.api)
	for address := range r.titles {
		r.files[address] = &file{contentType: htmlType, make: func() []byte { return s.referencePage(address) }}
	}
	return r
}

// add adds an operation to its first tag.
func (r *reference) add(o operation) {
	name := "other"
	if tags := list(o.whole["tags"]); len(tags) > 0 {
		name = textOf(tags[0])
	}
	at := slices.IndexFunc(r.tags, func(t tag) bool { return t.Name == name })
	if at < 0 {
		at = len(r.tags)
		r.tags = append(r.tags, tag{Name: name})
	}
	r.tags[at].Operations = append(r.tags[at].Operations, o)
}

func pageOf(tagName string) string { return referenceRoot + "/" + tagName }

// entries returns the reference's search entries.
func (r *reference) entries() []entry {
	var entries []entry
	for _, t := range r.tags {
		for _, o := range t.Operations {
			entries = append(entries, entry{
				Address: pageOf(t.Name) + "#" + o.ID, Page: "API: " + t.Name, Heading: o.Method + " " + o.Path, Text: o.Summary + " " + o.ID,
			})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(dig(r.whole, "components", "schemas"))) {
		entries = append(entries, entry{Address: schemasPage + "#" + name, Page: "API: schemas", Heading: name})
	}
	return entries
}

// referencePage renders the page at an address below referenceRoot.
func (s *Site) referencePage(address string) []byte {
	r := s.reference()
	p := page{Title: r.titles[address], Address: address}
	out := &builder{reference: r}
	out.line("<h1>%s</h1>", p.Title)
	switch address {
	case referenceRoot:
		out.overview()
	case schemasPage:
		out.schemas()
	default:
		p.Headings = out.tag(strings.TrimPrefix(address, referenceRoot+"/"))
	}
	p.Body = template.HTML(out.String()) //nolint:gosec // all text is escaped when it is written
	return s.show(p)
}

// builder writes HTML. line escapes every argument.
type builder struct {
	strings.Builder
	reference *reference
}

func (b *builder) line(format string, arguments ...string) {
	escaped := make([]any, len(arguments))
	for i, one := range arguments {
		escaped[i] = template.HTMLEscapeString(one)
	}
	fmt.Fprintf(b, format+"\n", escaped...)
}

// markdown writes a Markdown description.
func (b *builder) markdown(source any) {
	if described := textOf(source); described != "" {
		b.WriteString(parse([]byte(described), func(target string) string { return target }).html())
	}
}

func (b *builder) overview() {
	info := dig(b.reference.whole, "info")
	b.line(`<p>Version %s of <a href="/openapi.yaml">openapi.yaml</a>, which the service has as <a href="/openapi.json">JSON</a>, too. All types are on one page: <a href="%s">schemas</a>.</p>`, textOf(info["version"]), schemasPage)
	for _, t := range b.reference.tags {
		b.line(`<h2 id="%s"><a href="%s">%s</a></h2>`, t.Name, pageOf(t.Name), t.Name)
		b.markdown(t.Description)
		b.line("<ul>")
		for _, o := range t.Operations {
			b.line(`<li><a href="%s#%s"><code>%s %s</code></a> %s</li>`, pageOf(t.Name), o.ID, o.Method, o.Path, o.Summary)
		}
		b.line("</ul>")
	}
	b.markdown(info["description"])
}

func (b *builder) tag(name string) []heading {
	at := slices.IndexFunc(b.reference.tags, func(t tag) bool { return t.Name == name })
	t := b.reference.tags[at]
	b.markdown(t.Description)
	var headings []heading
	for _, o := range t.Operations {
		headings = append(headings, heading{Level: 2, Anchor: o.ID, Text: o.Method + " " + o.Path})
		b.operation(o)
	}
	return headings
}

func (b *builder) operation(o operation) {
	b.line(`<section class="operation"><h2 id="%s"><code>%s %s</code></h2><p>%s</p>`, o.ID, o.Method, o.Path, o.Summary)
	b.markdown(o.whole["description"])
	if parameters := slices.Concat(o.shared, list(o.whole["parameters"])); len(parameters) > 0 {
		b.line(`<h3>Parameters</h3><div class="table" tabindex="0" role="group" aria-label="Parameters of %s"><table><thead><tr><th>Name</th><th>In</th><th>Type</th><th>Description</th></tr></thead><tbody>`, o.ID)
		for _, one := range parameters {
			parameter := b.follow(one)
			b.line(`<tr><td><code>%s</code>%s</td><td>%s</td><td>`, textOf(parameter["name"]), required(parameter["required"] == true), textOf(parameter["in"]))
			b.typeOf(parameter["schema"])
			b.line("</td><td>")
			b.markdown(parameter["description"])
			b.line("</td></tr>")
		}
		b.line("</tbody></table></div>")
	}
	if body := b.follow(o.whole["requestBody"]); len(body) > 0 {
		b.line("<h3>Body</h3>")
		b.markdown(body["description"])
		b.content(body)
	}
	b.line("<h3>Replies</h3><dl>")
	responses, _ := o.whole["responses"].(object)
	for _, status := range slices.Sorted(maps.Keys(responses)) {
		response := b.follow(responses[status])
		b.line("<dt>%s</dt><dd>", status)
		b.markdown(response["description"])
		b.content(response)
		b.line("</dd>")
	}
	b.line("</dl></section>")
}

// required returns a mark that line does not escape.
func required(is bool) string {
	if is {
		return " *"
	}
	return ""
}

// content writes the media types and first examples of a body.
func (b *builder) content(of object) {
	content, _ := of["content"].(object)
	for _, media := range slices.Sorted(maps.Keys(content)) {
		described, _ := content[media].(object)
		b.line("<p><code>%s</code>: ", media)
		b.typeOf(described["schema"])
		b.line("</p>")
		examples, _ := described["examples"].(object)
		for _, name := range slices.Sorted(maps.Keys(examples)) {
			example := b.follow(examples[name])
			shown, err := json.MarshalIndent(example["value"], "", "  ")
			if asText, isText := example["value"].(string); isText {
				shown = []byte(asText)
			}
			if err == nil {
				b.line(`<details><summary>Example: %s</summary><pre tabindex="0"><code>%s</code></pre></details>`, name, string(shown))
			}
		}
	}
}

func (b *builder) schemas() {
	schemas := dig(b.reference.whole, "components", "schemas")
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		schema, _ := schemas[name].(object)
		b.line(`<section class="operation"><h2 id="%s">%s</h2>`, name, name)
		b.markdown(schema["description"])
		if rows := membersOf(schema, ""); len(rows) > 0 {
			b.line(`<div class="table" tabindex="0" role="group" aria-label="Members of %s"><table><thead><tr><th>Member</th><th>Type</th><th>Description</th></tr></thead><tbody>`, name)
			for _, row := range rows {
				b.line("<tr><td><code>%s</code>%s</td><td>", row.name, required(row.required))
				b.typeOf(row.schema)
				b.line("</td><td>")
				b.markdown(row.schema["description"])
				b.line("</td></tr>")
			}
			b.line("</tbody></table></div>")
		}
		if schema["properties"] == nil {
			b.line("<p>")
			b.typeOf(schema)
			b.line("</p>")
		}
		b.line("</section>")
	}
}

type member struct {
	name     string
	required bool
	schema   object
}

// membersOf returns a schema's members, required ones first, each followed by the members of a
// nested object.
func membersOf(schema object, prefix string) []member {
	properties, _ := schema["properties"].(object)
	must := list(schema["required"])
	isRequired := func(name string) bool { return slices.Contains(must, any(name)) }
	names := slices.SortedFunc(maps.Keys(properties), func(a, b string) int {
		if isRequired(a) != isRequired(b) {
			if isRequired(a) {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	var rows []member
	for _, name := range names {
		inner, _ := properties[name].(object)
		rows = append(rows, member{name: prefix + name, required: isRequired(name), schema: inner})
		rows = append(rows, membersOf(inner, prefix+name+".")...)
		if items, isList := inner["items"].(object); isList {
			rows = append(rows, membersOf(items, prefix+name+"[].")...)
		}
	}
	return rows
}

// typeOf writes the type of a value.
func (b *builder) typeOf(of any) {
	schema, _ := of.(object)
	if reference := textOf(schema["$ref"]); reference != "" {
		name := reference[strings.LastIndex(reference, "/")+1:]
		b.line(`<a href="%s#%s">%s</a>`, schemasPage, name, name)
		return
	}
	for word, choices := range map[string][]any{" or ": slices.Concat(list(schema["oneOf"]), list(schema["anyOf"])), " and ": list(schema["allOf"])} {
		for i, choice := range choices {
			if i > 0 {
				b.WriteString(word)
			}
			b.typeOf(choice)
		}
	}
	kinds := []string{}
	for _, kind := range append(list(schema["type"]), schema["type"]) {
		if textOf(kind) != "" {
			kinds = append(kinds, textOf(kind))
		}
	}
	b.line("%s", strings.Join(kinds, " or "))
	if items, isList := schema["items"]; isList {
		b.WriteString("of ")
		b.typeOf(items)
	}
	for _, name := range []string{"const", "enum", "format", "pattern", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "default"} {
		if value, given := schema[name]; given {
			shown, err := json.Marshal(value)
			if err == nil {
				b.line(`<br><span class="bound">%s: <code>%s</code></span>`, name, string(shown))
			}
		}
	}
}

// follow returns an object, or the object that its $ref names.
func (b *builder) follow(of any) object {
	at, _ := of.(object)
	if reference, isReference := at["$ref"].(string); isReference {
		return dig(b.reference.whole, strings.Split(strings.TrimPrefix(reference, "#/"), "/")...)
	}
	return at
}

func dig(from object, names ...string) object {
	for _, name := range names {
		from, _ = from[name].(object)
	}
	return from
}

func list(of any) []any {
	all, _ := of.([]any)
	return all
}

func textOf(of any) string {
	value, _ := of.(string)
	return value
}
