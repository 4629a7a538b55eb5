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
)

// anyFile is the path that all others are, too: of what is not there, it is no part.
const anyFile = "/{file...}"

// routes returns all there is. Each file has the routes of its subject.
func (h *Handler) routes() []route {
	return slices.Concat(probeRoutes, filterRoutes, itemRoutes, cureRoutes, overviewRoutes, eventRoutes, openapiRoutes, calcRoutes, teachRoutes, tabRoutes, pageRoutes)
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
		writeProblem(w, noSuchPath)
		return
	}
	list := strings.Join(allowed, ", ")
	w.Header().Set("Allow", list)
	writeProblem(w, problem{http.StatusMethodNotAllowed, "method_not_allowed", "this path takes " + list})
}

var noSuchPath = problem{http.StatusNotFound, "no_such_path", "there is nothing at this path; /api/v1/openapi.yaml describes the API"}
