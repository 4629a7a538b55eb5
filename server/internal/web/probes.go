package web

// livez, readyz and metrics.

import "net/http"

// probeRoutes are for what watches the server from outside.
var probeRoutes = []route{
	{"GET", "/livez", (*call).livez, anybody, "Reports that the process answers."},
	{"GET", "/readyz", (*call).readyz, anybody, "Reports whether the server takes reads and writes, and why not."},
	{"GET", "/metrics", (*call).metrics, reads, "Metrics in the text format of Prometheus."},
}

func (c *call) livez() error { return c.json(http.StatusOK, map[string]string{"status": "ok"}) }

// Starting returns what answers while a server reads its data: the process is well, and
// why is the reason for which nothing else is answered.
func Starting(why string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		secure(w.Header())
		if r.URL.Path == "/livez" && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
			writeBytes(w, http.StatusOK, "application/json", []byte("{\"status\":\"starting\"}\n"))
			return
		}
		writeProblem(w, problem{http.StatusServiceUnavailable, "starting", why})
	})
}

// readyz reports whether the log can be written. The data is loaded: see Starting.
func (c *call) readyz() error {
	if err := c.h.Ready(); err != nil {
		return problem{http.StatusServiceUnavailable, "not_ready", err.Error()}
	}
	return c.json(http.StatusOK, map[string]string{"status": "ready"})
}

// metrics are for who may run INFO and read all names: they have both in them.
func (c *call) metrics() error {
	if _, err := c.info("server"); err != nil {
		return err
	}
	if !c.h.Engine.ReadsAll(c.session) {
		return problem{http.StatusForbidden, "forbidden", "metrics name all filters, and the user may not read all names"}
	}
	if c.h.Metrics == nil {
		return noSuchPath
	}
	c.h.Metrics.ServeHTTP(c.w, c.r)
	return nil
}
