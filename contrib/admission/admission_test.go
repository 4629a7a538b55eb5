package admission_test

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/contrib/admission"
	"github.com/bloomery/bloomery/hashing"
)

func made(t testing.TB, c admission.Config) *admission.Door {
	t.Helper()
	d, err := c.New()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// control returns Cache-Control of the response to a request.
func control(h http.Handler, method, url string) string {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, url, nil))
	return strings.Join(w.Result().Header.Values("Cache-Control"), " and ")
}

// The first response is private, later ones are as the origin made them; other methods are
// neither marked nor noted.
func TestSecondRequestIsAdmitted(t *testing.T) {
	const given = "public, max-age=60"
	h := made(t, admission.Config{Requests: 100}).Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", given)
		_, _ = fmt.Fprint(w, "hello")
	}))
	for _, step := range []struct{ method, url, want string }{
		{"POST", "http://a/x", given},
		{"GET", "http://a/x", "private, max-age=60"},
		{"GET", "http://a/x", given},
		{"GET", "http://a/x", given},
		{"GET", "http://a/x?q=1", "private, max-age=60"},
		{"GET", "http://b/x", "private, max-age=60"},
		{"GET", "http://b/x", given},
	} {
		if got := control(h, step.method, step.url); got != step.want {
			t.Errorf("%s %s: Cache-Control %q, want %q", step.method, step.url, got, step.want)
		}
	}
}

// However a handler answers, the mark is there before the header goes out, and there once.
func TestMarks(t *testing.T) {
	for name, c := range map[string]struct {
		given []string
		serve func(w http.ResponseWriter)
		want  string
	}{
		"nothing written":  {nil, func(http.ResponseWriter) {}, "private"},
		"status":           {nil, func(w http.ResponseWriter) { w.WriteHeader(http.StatusNotFound) }, "private"},
		"write":            {[]string{"max-age=5"}, func(w http.ResponseWriter) { _, _ = fmt.Fprint(w, "x") }, "private, max-age=5"},
		"read from":        {[]string{"s-maxage=9, max-age=5"}, func(w http.ResponseWriter) { _, _ = io.Copy(w, strings.NewReader("x")) }, "private, max-age=5"},
		"flush":            {[]string{"PUBLIC"}, func(w http.ResponseWriter) { w.(http.Flusher).Flush() }, "private"},
		"controller":       {[]string{"public"}, func(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() }, "private"},
		"no-store":         {[]string{"public, no-store"}, func(w http.ResponseWriter) { _, _ = fmt.Fprint(w, "x") }, "no-store"},
		"two fields":       {[]string{"public", "immutable"}, func(w http.ResponseWriter) { _, _ = fmt.Fprint(w, "x") }, "private, immutable"},
		"private":          {[]string{"private, must-revalidate"}, func(w http.ResponseWriter) { _, _ = fmt.Fprint(w, "x") }, "private, must-revalidate"},
		"quoted":           {[]string{`private="A, B", no-cache="C, public, \", D", x="no-store, y", public`}, func(w http.ResponseWriter) { _, _ = fmt.Fprint(w, "x") }, `private, no-cache="C, public, \", D", x="no-store, y"`},
		"open quote":       {[]string{`x="a, \`}, func(w http.ResponseWriter) { _, _ = fmt.Fprint(w, "x") }, `private, x="a, \`},
		"status and write": {[]string{"public"}, func(w http.ResponseWriter) { w.WriteHeader(http.StatusOK); _, _ = fmt.Fprint(w, "x") }, "private"},
	} {
		h := made(t, admission.Config{Requests: 100}).Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Cache-Control"] = c.given
			c.serve(w)
		}))
		if got := control(h, "GET", "http://a/"); got != c.want {
			t.Errorf("%s: Cache-Control %q, want %q", name, got, c.want)
		}
	}
}

// Behind a real server: files are sent, and a handler can have the connection for itself.
func TestServer(t *testing.T) {
	s := httptest.NewServer(made(t, admission.Config{Requests: 100}).Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/hints":
			w.Header().Set("Cache-Control", "public")
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusAccepted)
			return
		case "/file":
			http.ServeContent(w, r, "x.txt", time.Time{}, strings.NewReader("contents"))
			return
		}
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = fmt.Fprint(conn, "HTTP/1.1 204 Taken Over\r\nConnection: close\r\n\r\n")
		conn.Close()
	})))
	defer s.Close()
	for _, step := range []struct {
		path, control string
		status        int
		body          string
	}{{"/file", "private", 200, "contents"}, {"/file", "", 200, "contents"}, {"/hints", "private", 202, ""}, {"/taken", "", 204, ""}} {
		resp, err := s.Client().Get(s.URL + step.path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if got := resp.Header.Get("Cache-Control"); err != nil || resp.StatusCode != step.status || string(body) != step.body || got != step.control {
			t.Errorf("%s: %v, status %d, %q, Cache-Control %q, want %+v", step.path, err, resp.StatusCode, body, got, step)
		}
	}
}

// What was asked for twice within the window is always seen the second time; what is new hardly
// ever is. At 1%, 20,000 new keys differ by 14 (one sigma).
func TestWindow(t *testing.T) {
	const n = 10_000
	d := made(t, admission.Config{Requests: n})
	key := func(i int) []byte { return fmt.Appendf(nil, "key %d", i) }
	wrong := 0
	for i := range 3 * n {
		if d.Seen(key(i)) && i >= n {
			wrong++
		}
		if back := i - n/2 + 1; back >= 0 && i%7 == 0 && !d.Seen(key(back)) {
			t.Fatalf("key %d is forgotten %d keys later", back, n/2)
		}
	}
	if wrong > 200+3*14 {
		t.Errorf("%d of %d new keys count as seen, want at most 1%% + 3 sigma", wrong, 2*n)
	}
	if d.Seen(key(0)) {
		t.Error("the first key is still known after three windows")
	}
}

// However requests fall into generations, what comes back after no more others than the window
// has is seen.
func TestWindowExact(t *testing.T) {
	for n := 1; n <= 12; n++ {
		random := rand.New(rand.NewPCG(1, uint64(n)))
		d := made(t, admission.Config{Requests: n})
		last := map[int]int{}
		for i := range 2000 {
			key := random.IntN(3 * n)
			at, before := last[key]
			last[key] = i
			if seen := d.Seen(fmt.Append(nil, key)); before && i-at-1 <= n && !seen {
				t.Fatalf("window %d: request %d is forgotten, with %d others in between", n, i, i-at-1)
			}
		}
	}
}

// One of many goroutines that ask for the same key at once is the first.
func TestConcurrent(t *testing.T) {
	d := made(t, admission.Config{Requests: 1000})
	for i := range 100 {
		var all sync.WaitGroup
		var mu sync.Mutex // guards first
		first := 0
		for range 8 {
			all.Go(func() {
				if !d.Seen(fmt.Appendf(nil, "%d", i)) {
					mu.Lock()
					defer mu.Unlock()
					first++
				}
			})
		}
		all.Wait()
		if first > 1 {
			t.Fatalf("key %d was new to %d goroutines", i, first)
		}
	}
}

func TestConfigRefuses(t *testing.T) {
	for name, c := range map[string]admission.Config{
		"nothing": {}, "negative": {Requests: -1}, "rate 1": {Requests: 1, ErrorRate: 1}, "rate NaN": {Requests: 1, ErrorRate: math.NaN()},
	} {
		if _, err := c.New(); !errors.Is(err, bloomery.ErrParameter) {
			t.Errorf("%s: %v, want ErrParameter", name, err)
		}
	}
}

func TestSeenAllocatesNothing(t *testing.T) {
	d := made(t, admission.Config{Requests: 1000, Hasher: hashing.Keyed([16]byte{1})})
	key := []byte("a key")
	if n := testing.AllocsPerRun(100, func() { d.Seen(key) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
