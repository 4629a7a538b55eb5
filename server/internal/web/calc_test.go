package web

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server/internal/web/calc"
	"github.com/bloomery/bloomery/server/internal/web/teach"
	"github.com/bloomery/bloomery/sizing"
)

// ask sends a query to a page without a server and reads the answer into v.
func ask(t *testing.T, path, query string, v any) int {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
	r.URL = &url.URL{Path: path, RawQuery: query}
	w := httptest.NewRecorder()
	New(Config{}).ServeHTTP(w, r)
	if err := json.Unmarshal(w.Body.Bytes(), v); err != nil {
		t.Fatalf("%s?%s = %d: %v: %s", path, query, w.Code, err, w.Body)
	}
	return w.Code
}

// refusal is an answer that is an error.
type refusal struct {
	Error struct {
		Code, Message string
		Fields        map[string]string
	}
}

// TestCalcAnswers holds an answer over HTTP to sizing.
func TestCalcAnswers(t *testing.T) {
	var a calc.Answer
	if code := ask(t, "/api/v1/calc", "n=10M&p=1+in+1000", &a); code != http.StatusOK {
		t.Fatalf("status %d", code)
	}
	want, err := sizing.Solve(sizing.Params{N: 10_000_000, P: 0.001})
	if err != nil {
		t.Fatal(err)
	}
	if a.Textbook.M != want.M || a.Textbook.K != want.K {
		t.Errorf("m = %d and k = %d, want %d and %d", a.Textbook.M, a.Textbook.K, want.M, want.K)
	}
}

// TestTeachAnswers plays a lesson and a filter over HTTP, and finds a false positive.
func TestTeachAnswers(t *testing.T) {
	var v teach.Scene
	if code := ask(t, "/api/v1/teach", "lesson=cat-dog", &v); code != http.StatusOK || len(v.Steps) != 3 || v.Steps[2].Verdict != teach.Absent {
		t.Errorf("cat and dog: %d, %+v", code, v)
	}
	v = teach.Scene{}
	if code := ask(t, "/api/v1/teach", "", &v); code != http.StatusOK || v.Kind != "standard" || len(v.Steps) != 0 {
		t.Errorf("nothing asked for: %d, %+v", code, v)
	}
	const full = "kind=standard&bits=256&hashes=2&do=fill:90"
	var found teach.Found
	if code := ask(t, "/api/v1/teach/find", full, &found); code != http.StatusOK || found.Key == "" {
		t.Fatalf("find: %d, %+v", code, found)
	}
	v = teach.Scene{}
	if code := ask(t, "/api/v1/teach", full+"&do="+url.QueryEscape("ask:"+found.Key), &v); code != http.StatusOK || v.Steps[1].Verdict != teach.FalsePositive {
		t.Errorf("what was found: %d, %+v", code, v.Steps)
	}
	var list lessonList
	if code := ask(t, "/api/v1/teach/lessons", "", &list); code != http.StatusOK || len(list.Lessons) < 8 || len(list.Kinds) < 7 {
		t.Errorf("lessons: %d, %+v", code, list)
	}
	var c teach.Comparison
	if code := ask(t, "/api/v1/teach/hashes", "n=2k&keys=random", &c); code != http.StatusOK || c.Keys != 2000 || len(c.Sides) != 2 {
		t.Errorf("hashes: %d, %+v", code, c)
	}
	var g teach.Growth
	if code := ask(t, "/api/v1/teach/saturation", "kind=blocked&n=200&p=5%25", &g); code != http.StatusOK || g.Capacity != 200 || g.Asked != 0.05 {
		t.Errorf("saturation: %d, %+v", code, g)
	}
}

// TestRefusedQueries has a status of its own and names the field.
func TestRefusedQueries(t *testing.T) {
	many := strings.Repeat("&do=add:a", teach.MaxActions+1)
	for _, c := range []struct {
		path, query, field string
		code               int
	}{
		{"calc", "n=-1&p=1%25", "n", 400},
		{"calc", "n=1e6&p=NaN", "p", 400},
		{"calc", "k=0", "k", 400},
		{"calc", "m=99EiB", "m", 400},
		{"calc", "n=1&n=2", "n", 400},
		{"calc", "n=%zz", "", 400},
		{"calc", "n=" + strings.Repeat("1", 20<<10), "", 414},
		{"teach", "lesson=none", "lesson", 400},
		{"teach", "kind=none", "kind", 400},
		{"teach", "bits=0", "bits", 400},
		{"teach", "bits=99999999999", "bits", 400},
		{"teach", "bits=1e3", "bits", 400},
		{"teach", "hashes=-1", "hashes", 400},
		{"teach", "hashes=99", "hashes", 400},
		{"teach", "do=add:", "do", 400},
		{"teach", "do=add:" + strings.Repeat("x", 100), "do", 400},
		{"teach", many[1:], "do", 400},
		{"teach", "do=fill:99999", "do", 400},
		{"teach", "x=1", "", 400},
		{"teach", "kind=standard&kind=blocked", "", 400},
		{"teach/find", "lesson=fruit", "lesson", 400},
		{"teach/find", "do=delete:x", "do", 400},
		{"teach/hashes", "n=1e9", "n", 400},
		{"teach/hashes", "n=x", "n", 400},
		{"teach/hashes", "p=2", "p", 400},
		{"teach/hashes", "keys=odd", "keys", 400},
		{"teach/saturation", "kind=cuckoo", "kind", 400},
		{"teach/saturation", "p=1e-9", "p", 400},
		{"teach/saturation", "n=5", "n", 400},
		{"teach/saturation", "n=x", "n", 400},
	} {
		var r refusal
		code := ask(t, "/api/v1/"+c.path, c.query, &r)
		if code != c.code || r.Error.Message == "" || len(r.Error.Message) > 500 || c.field != "" && r.Error.Fields[c.field] == "" {
			t.Errorf("%s?%.40s = %d %+v, want %d and a fault of %q", c.path, c.query, code, r.Error, c.code, c.field)
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
	paths := []string{"/api/v1/calc", "/api/v1/teach", "/api/v1/teach/find", "/api/v1/teach/hashes", "/api/v1/teach/saturation", "/api/v1/teach/lessons"}
	for i, query := range []string{
		"n=1e6&p=1%25&k=3&needs=deletes,growth&kind=cuckoo", "kind=counting&bits=512&hashes=3&do=add:a&do=delete:b&do=fill:30",
		"kind=window&do=advance&do=add:%E2%98%83", "n=500&p=5%25&keys=random", "kind=blocked&n=100&p=1%25", "x",
	} {
		f.Add(byte(i), query)
	}
	h := New(Config{})
	f.Fuzz(func(t *testing.T, which byte, query string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
		r.URL = &url.URL{Path: paths[int(which)%len(paths)], RawQuery: query}
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

// TestNoNumbersThatJSONLacks asks for figures at the ends of their ranges.
func TestNoNumbersThatJSONLacks(t *testing.T) {
	for _, query := range []string{"n=1&p=0.999999", "n=9e18&m=9e18", "n=1&m=1", "n=1&m=1&k=1048576", "p=1e-300&n=1", "bits=0.001", "bits=1000&n=1", "m=1&p=0.9"} {
		var v map[string]any
		code := ask(t, "/api/v1/calc", query, &v)
		if code != http.StatusOK && code != http.StatusBadRequest {
			t.Errorf("%s = %d %v", query, code, v)
		}
		if book, ok := v["textbook"].(map[string]any); ok {
			for name, x := range book {
				if n, ok := x.(float64); !ok || math.IsNaN(n) || n < 0 {
					t.Errorf("%s: %s = %v", query, name, x)
				}
			}
		}
	}
}
