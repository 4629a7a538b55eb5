package page

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/page/internal/calc"
	"github.com/bloomery/bloomery/page/internal/teach"
	"github.com/bloomery/bloomery/sizing"
)

// ask answers a question.
func ask(t *testing.T, path, query string) (any, error) {
	t.Helper()
	all := Questions()
	i := slices.IndexFunc(all, func(q Question) bool { return q.Path == path })
	values, err := url.ParseQuery(query)
	if i < 0 || err != nil {
		t.Fatalf("%s?%s: %v", path, query, err)
	}
	return all[i].Answer(values)
}

// answer answers a question that must have an answer.
func answer[V any](t *testing.T, path, query string) V {
	t.Helper()
	a, err := ask(t, path, query)
	v, ok := a.(V)
	if err != nil || !ok {
		t.Fatalf("%s?%s is a %T, %v", path, query, a, err)
	}
	if _, err := json.Marshal(a); err != nil {
		t.Fatalf("%s?%s: %v", path, query, err)
	}
	return v
}

// TestCalcAnswers holds an answer to sizing.
func TestCalcAnswers(t *testing.T) {
	a := answer[*calc.Answer](t, "calc", "n=10M&p=1+in+1000")
	want, err := sizing.Solve(sizing.Params{N: 10_000_000, P: 0.001})
	if err != nil {
		t.Fatal(err)
	}
	if a.Textbook.M != want.M || a.Textbook.K != want.K {
		t.Errorf("m = %d and k = %d, want %d and %d", a.Textbook.M, a.Textbook.K, want.M, want.K)
	}
}

// TestTeachAnswers plays a lesson and a filter, and finds a false positive.
func TestTeachAnswers(t *testing.T) {
	if v := answer[teach.Scene](t, "teach", "lesson=cat-dog"); len(v.Steps) != 3 || v.Steps[2].Verdict != teach.Absent {
		t.Errorf("cat and dog: %+v", v)
	}
	if v := answer[teach.Scene](t, "teach", ""); v.Kind != "standard" || len(v.Steps) != 0 {
		t.Errorf("nothing asked for: %+v", v)
	}
	const full = "kind=standard&bits=256&hashes=2&do=fill:90"
	found := answer[teach.Found](t, "teach/find", full)
	if found.Key == "" {
		t.Fatalf("find: %+v", found)
	}
	if v := answer[teach.Scene](t, "teach", full+"&do="+url.QueryEscape("ask:"+found.Key)); v.Steps[1].Verdict != teach.FalsePositive {
		t.Errorf("what was found: %+v", v.Steps)
	}
	if list := answer[lessonList](t, "teach/lessons", ""); len(list.Lessons) < 8 || len(list.Kinds) < 7 {
		t.Errorf("lessons: %+v", list)
	}
	if c := answer[teach.Comparison](t, "teach/hashes", "n=2k&keys=random"); c.Keys != 2000 || len(c.Sides) != 2 {
		t.Errorf("hashes: %+v", c)
	}
	if g := answer[teach.Growth](t, "teach/saturation", "kind=blocked&n=200&p=5%25"); g.Capacity != 200 || g.Asked != 0.05 {
		t.Errorf("saturation: %+v", g)
	}
}

// TestRefusedQueries asks that an error names the field, and nothing else.
func TestRefusedQueries(t *testing.T) {
	many := strings.Repeat("&do=add:a", teach.MaxActions+1)
	long := strings.Repeat("x", 1000)
	for _, c := range []struct{ path, query, field string }{
		{"calc", "n=-1&p=1%25", "n"},
		{"calc", "n=1e6&p=NaN", "p"},
		{"calc", "k=0", "k"},
		{"calc", "m=99EiB", "m"},
		{"calc", "n=1&n=2", "n"},
		{"teach", "lesson=none", "lesson"},
		{"teach", "kind=none", "kind"},
		{"teach", "bits=0", "bits"},
		{"teach", "bits=99999999999", "bits"},
		{"teach", "bits=1e3", "bits"},
		{"teach", "hashes=-1", "hashes"},
		{"teach", "hashes=99", "hashes"},
		{"teach", "do=add:", "do"},
		{"teach", "do=add:" + long[:100], "do"},
		{"teach", many[1:], "do"},
		{"teach", "do=fill:99999", "do"},
		{"teach", "x=1", "x"},
		{"teach", long + "=1", long[:64]},
		{"teach", "kind=standard&kind=blocked", "kind"},
		{"teach/find", "lesson=fruit", "lesson"},
		{"teach/find", "do=delete:x", "do"},
		{"teach/hashes", "n=1e9", "n"},
		{"teach/hashes", "n=x", "n"},
		{"teach/hashes", "p=2", "p"},
		{"teach/hashes", "keys=odd", "keys"},
		{"teach/saturation", "kind=cuckoo", "kind"},
		{"teach/saturation", "p=1e-9", "p"},
		{"teach/saturation", "n=5", "n"},
		{"teach/saturation", "n=x", "n"},
	} {
		_, err := ask(t, c.path, c.query)
		faults, ok := errors.AsType[QueryError](err)
		if !ok || len(faults) != 1 || faults[c.field] == "" || len(err.Error()) > 500 {
			t.Errorf("%s?%.40s: %v, want a fault of %s", c.path, c.query, err, c.field)
		}
	}
}

// TestNoNumbersThatJSONLacks asks for figures at the ends of their ranges.
func TestNoNumbersThatJSONLacks(t *testing.T) {
	for _, query := range []string{"n=1&p=0.999999", "n=9e18&m=9e18", "n=1&m=1", "n=1&m=1&k=1048576", "p=1e-300&n=1", "bits=0.001", "bits=1000&n=1", "m=1&p=0.9"} {
		a, err := ask(t, "calc", query)
		if _, refused := errors.AsType[QueryError](err); err != nil && !refused {
			t.Errorf("%s: %v", query, err)
		}
		data, err := json.Marshal(a)
		var v struct{ Textbook map[string]any }
		if err != nil || json.Unmarshal(data, &v) != nil {
			t.Fatalf("%s: %s, %v", query, data, err)
		}
		for name, x := range v.Textbook {
			if n, ok := x.(float64); !ok || math.IsNaN(n) || n < 0 {
				t.Errorf("%s: %s = %v", query, name, x)
			}
		}
	}
}

// TestFilesAndFrame asks for the scripts by their names, and for a page without a server.
func TestFilesAndFrame(t *testing.T) {
	for _, name := range []string{"app.js", "calculator.js", "how.js", "style.css", "icon.svg"} {
		if _, err := fs.Stat(Files(), name); err != nil {
			t.Error(err)
		}
	}
	for tab, want := range map[string]string{"calculator": "needs JavaScript", "how": "needs JavaScript"} {
		var b strings.Builder
		err := Frame().Execute(&b, map[string]any{"Tab": tab, "Title": "A title"})
		if text := b.String(); err != nil || !strings.Contains(text, "A title") || !strings.Contains(text, want) {
			t.Errorf("%s: %v: %s", tab, err, text)
		}
	}
}
