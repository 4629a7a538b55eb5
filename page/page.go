// Package page is what a page on filters shows without a server: the calculator, which
// sizes them, and the lessons on how they work. A server shows its data on the same page;
// bloomery page serves it alone. The package opens no files and no connections, so that it
// also compiles for a browser.
//
//	scripts of the page ─► path and query ─► Question ─► calculator or lesson ─► JSON
//
// [Questions] lists what the scripts ask for. [Files] are the scripts and styles, and
// [Frame] is the template that all tabs have in common.
package page

import (
	"embed"
	"html/template"
	"io/fs"
)

//go:embed files
var files embed.FS

//go:embed frame.html
var frame string

// Files returns the scripts, styles and pictures of the page, which are served as they are.
func Files() fs.FS {
	all, err := fs.Sub(files, "files")
	if err != nil {
		panic(err) // the path is valid
	}
	return all
}

// Frame returns the template of a whole page. It is executed with a value that has Tab
// (overview, filters, calculator or how), Title, Server and Admin, and Problem, why there is
// no data. Only with Server there are the tabs that show one, and the
// templates overview, filters and filter show Overview, List and Filter: here they are empty.
// With Static the page is files alone, and with Policy as its
// content security policy.
func Frame() *template.Template { return template.Must(template.New("frame.html").Parse(frame)) }
