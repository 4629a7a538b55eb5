package web

// The table of routes.

import (
	"net/http"
	"slices"
	"strings"
)

// route is one thing that can be asked for.
type route struct {
	method, path string
	// run answers: it writes the response, or returns why there is none.
	run func(*call) error
	// access is what a request needs.
	access access
	// doc describes it in a line.
	doc string
}

// access is what a request needs before it is answered.
type access uint8

const (
	reads   access = iota // who may look: a session
	writes                // who may change something, and only if http-admin is set
	static                // nothing secret: no session, refused by protected mode only
	anybody               // whoever can connect: for probes
	inside                // who has the token, and only if http-debug is set
)

// anyFile is the path that all others are, too: of what is not there, it is no part.
const anyFile = "/{file...}"

// routes returns all there is. Each file has the routes of its subject.
func (h *Handler) routes() []route {
	return slices.Concat(probeRoutes, debugRoutes, filterRoutes, newsRoutes, itemRoutes, cureRoutes, overviewRoutes, eventRoutes, openapiRoutes, questionRoutes(), tabRoutes, pageRoutes)
}

func (h *Handler) register() {
	for _, r := range h.routes() {
		h.mux.HandleFunc(r.method+" "+r.path, func(w http.ResponseWriter, req *http.Request) { h.answer(&r, w, req) })
		if !slices.Contains(h.methods, r.method) {
			h.methods = append(h.methods, r.method)
		}
	}
}

// unmatched answers a request that no route is for: the path has other methods, or
// there is no such path.
func (h *Handler) unmatched(w http.ResponseWriter, r *http.Request) {
	var allowed []string
	for _, method := range h.methods {
		other := *r
		other.Method = method
		if _, pattern := h.mux.Handler(&other); pattern != "" && !strings.HasSuffix(pattern, anyFile) {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) == 0 {
		h.noSuchPath(w, r)
		return
	}
	list := strings.Join(allowed, ", ")
	w.Header().Set("Allow", list)
	writeProblem(w, problem{http.StatusMethodNotAllowed, "method_not_allowed", "this path takes " + list})
}

// noSuchPath answers a request for what is not there: a browser with a page, others with
// an error of the API.
func (h *Handler) noSuchPath(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/api/") || !strings.Contains(r.Header.Get("Accept"), "text/html") {
		writeProblem(w, noSuchPath)
		return
	}
	root := "./" + strings.Repeat("../", max(strings.Count(r.URL.Path, "/")-1, 0)) // relative: there may be a prefix before it
	writeBytes(w, http.StatusNotFound, pageTypes[".html"], []byte(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Not found · bloomery</title><link rel="stylesheet" href="`+root+`style.css"></head>
<body><main id="view"><h1>Not found</h1><p>There is nothing at this address. <a href="`+root+`">Go to the overview</a>.</p></main></body></html>
`))
}

var noSuchPath = problem{http.StatusNotFound, "no_such_path", "there is nothing at this path; /api/v1/openapi.yaml describes the API"}
