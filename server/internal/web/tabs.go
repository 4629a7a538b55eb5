package web

// The four tabs, and how they are rendered.

import (
	"bytes"
	"compress/gzip"
	"embed"
	"html/template"
	"net/http"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/bloomery/bloomery/page"
)

// tabFiles are the templates of the tabs that show data, within the frame of the page.
// They are rendered here, so that they work without scripts; the scripts of the page fetch
// them again when there is news.
//
//go:embed tabs/*.html
var tabFiles embed.FS

var templates = sync.OnceValue(func() *template.Template {
	return template.Must(page.Frame().Funcs(figureFuncs).ParseFS(tabFiles, "tabs/*.html"))
})

// tabRoutes are the four tabs. Their paths have one element: links are relative, so
// that the page can be mounted under any prefix.
var tabRoutes = []route{
	{"GET", "/{$}", (*call).overviewTab, static, "The page: what the server does."},
	{"GET", "/filters", (*call).filtersTab, static, "The page: all filters, or the one that name= gives."},
	{"GET", "/calculator", (*call).calculatorTab, static, "The page: how large a filter must be."},
	{"GET", "/how", (*call).howTab, static, "The page: how filters work."},
}

// frame is what a tab is rendered from.
type frame struct {
	Tab, Title string
	// Server reports that there is a server, and not the page alone; Admin that it
	// allows changes from here.
	Server, Admin bool
	// Static and Policy are for the page as files alone, which is written elsewhere.
	Static bool
	Policy string
	// Problem is why there is no data, nil if there is.
	Problem *problem

	Overview *overviewView
	List     *filterList
	Filter   filterRow
}

func (c *call) calculatorTab() error {
	return c.render(http.StatusOK, frame{Tab: "calculator", Title: "Calculator"})
}

func (c *call) howTab() error {
	return c.render(http.StatusOK, frame{Tab: "how", Title: "How it works"})
}

// showTab renders a tab that load fills with data. Without a server there is none: the
// lessons take its place. A request that may not see the data gets the frame with the reason.
func (c *call) showTab(f frame, load func(f *frame) error) error {
	if c.h.Engine == nil {
		c.w.Header().Set("Location", "how")
		writeBytes(c.w, http.StatusFound, "text/plain; charset=utf-8", []byte("how\n"))
		return nil
	}
	c.watching = true
	err := c.identify()
	if err == nil {
		err = load(&f)
	}
	if err == nil {
		return c.render(http.StatusOK, f)
	}
	p := asProblem(err)
	f.Problem, f.Overview, f.List, f.Filter = &p, nil, nil, nil
	if c.r.URL.Query().Has("signin") {
		p.challenge(c.w.Header(), c.r)
	}
	return c.render(p.status, f)
}

// render answers a tab.
func (c *call) render(status int, f frame) error {
	f.Server, f.Admin = c.h.Engine != nil, c.h.Admin
	var b bytes.Buffer
	if err := templates().ExecuteTemplate(&b, "frame.html", f); err != nil {
		return err
	}
	head := c.w.Header()
	head.Set("Vary", "Accept-Encoding, Authorization")
	data := b.Bytes()
	if takesGzip(c.r) {
		head.Set("Content-Encoding", "gzip")
		data = zipped(data)
	}
	writeBytes(c.w, status, "text/html; charset=utf-8", data)
	return nil
}

// zipped compresses a page, fast: it is made for one request.
func zipped(data []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed) // the level exists
	_, _ = w.Write(data)                            // to memory
	_ = w.Close()
	return b.Bytes()
}

// Status is the status of the response, for templates.
func (p problem) Status() int { return p.status }

// Sentence is the message as a sentence of the page, without the code that errors of
// commands begin with.
func (p problem) Sentence() string {
	message := p.message
	if code, rest, ok := strings.Cut(message, " "); ok && strings.ToUpper(code) == code {
		message = rest
	}
	first, size := utf8.DecodeRuneInString(message)
	text := string(unicode.ToUpper(first)) + message[size:]
	if !strings.HasSuffix(text, ".") {
		text += "."
	}
	return text
}
