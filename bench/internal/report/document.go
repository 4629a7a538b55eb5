package report

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// Document is a Markdown document that a program writes. Its parts are
// separated by empty lines.
type Document struct{ b strings.Builder }

// New starts a document under a title. The command is the one that writes it
// again.
func New(title, command string) *Document {
	d := &Document{}
	fmt.Fprintf(&d.b, "# %s\n", title)
	d.Text(fmt.Sprintf("`%s` writes this file.", command))
	return d
}

// Section starts a section.
func (d *Document) Section(title string) { d.Add("## " + title) }

// Subsection starts a part of a section.
func (d *Document) Subsection(title string) { d.Add("### " + title) }

// Text adds a paragraph and breaks its lines.
func (d *Document) Text(text string) { d.Add(Paragraph(text)) }

// Table adds a table, unless it has no rows.
func (d *Document) Table(t *Table) {
	if !t.Empty() {
		d.Add(t.String())
	}
}

// Code adds text that is shown as it is.
func (d *Document) Code(language, text string) {
	d.Add("```" + language + "\n" + strings.TrimSuffix(text, "\n") + "\n```")
}

// Add adds Markdown as it is.
func (d *Document) Add(markdown string) {
	if markdown = strings.Trim(markdown, "\n"); markdown == "" {
		return
	}
	if d.b.Len() > 0 {
		d.b.WriteByte('\n')
	}
	d.b.WriteString(markdown + "\n")
}

// String returns the document.
func (d *Document) String() string { return d.b.String() }

// Write writes the document to a file, or to stdout if path is empty. What is
// written to stdout otherwise is brief.
func (d *Document) Write(path string, stdout io.Writer, brief string) error {
	text := brief
	if path == "" {
		text = d.String()
	} else if err := os.WriteFile(path, []byte(d.String()), 0o644); err != nil {
		return err
	}
	_, err := io.WriteString(stdout, text)
	return err
}
