package web

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/page"
)

// TestQuestionsOverHTTP asks for an answer, and for refusals that name the field.
func TestQuestionsOverHTTP(t *testing.T) {
	for _, c := range []struct {
		path, query, field string
		code               int
	}{
		{"calc", "n=10M&p=1+in+1000", "", 200},
		{"teach", "lesson=cat-dog", "", 200},
		{"calc", "n=-1&p=1%25", "n", 400},
		{"calc", "n=%zz", "", 400},
		{"calc", "n=" + strings.Repeat("1", 20<<10), "", 414},
		{"teach", "x=1", "x", 400},
		{"teach/saturation", "kind=cuckoo", "kind", 400},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
		r.URL = &url.URL{Path: "/api/v1/" + c.path, RawQuery: c.query}
		w := httptest.NewRecorder()
		New(Config{}).ServeHTTP(w, r)
		var got struct {
			Error struct {
				Code, Message string
				Fields        map[string]string
			}
		}
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatalf("%s?%.40s = %d: %v: %s", c.path, c.query, w.Code, err, w.Body)
		}
		if w.Code != c.code || (c.code == 200) != (got.Error.Code == "") || c.field != "" && got.Error.Fields[c.field] == "" {
			t.Errorf("%s?%.40s = %d %+v, want %d and a fault of %q", c.path, c.query, w.Code, got.Error, c.code, c.field)
		}
	}
}

// TestBusy lets computations wait for their turn, and end with their request.
func TestBusy(t *testing.T) {
	h := New(Config{})
	for range cap(h.turns) {
		h.turns <- struct{}{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/api/v1/calc", http.NoBody))
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("with all places taken the answer is %d %s", w.Code, w.Body)
	}
}

// FuzzQueries sends any query to every route that computes: the answer is JSON, of a
// status that is described, and of bounded size.
func FuzzQueries(f *testing.F) {
	for i, query := range []string{
		"n=1e6&p=1%25&k=3&needs=deletes,growth&kind=cuckoo", "kind=counting&bits=512&hashes=3&do=add:a&do=delete:b&do=fill:30",
		"kind=window&do=advance&do=add:%E2%98%83", "n=500&p=5%25&keys=random", "kind=blocked&n=100&p=1%25", "x",
	} {
		f.Add(byte(i), query)
	}
	h, questions := New(Config{}), page.Questions()
	f.Fuzz(func(t *testing.T, which byte, query string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
		r.URL = &url.URL{Path: "/api/v1/" + questions[int(which)%len(questions)].Path, RawQuery: query}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != 200 && w.Code != 400 && w.Code != 414 {
			t.Fatalf("%s?%s = %d %s", r.URL.Path, query, w.Code, w.Body)
		}
		if w.Body.Len() > 2<<20 || !json.Valid(w.Body.Bytes()) {
			t.Fatalf("%s?%s: %d bytes, JSON: %v", r.URL.Path, query, w.Body.Len(), json.Valid(w.Body.Bytes()))
		}
	})
}
