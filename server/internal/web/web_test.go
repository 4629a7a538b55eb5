package web

import (
	"errors"
	"fmt"
	"math"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/answer"
)

// TestRoutesAreDescribed asks that the routes and openapi.yaml name the same paths and
// methods. The page itself is no part of the API.
func TestRoutesAreDescribed(t *testing.T) {
	var routed []string
	for _, r := range (&Handler{}).routes() {
		if r.doc == "" {
			t.Errorf("%s %s has no line of description", r.method, r.path)
		}
		isTab := slices.ContainsFunc(tabRoutes, func(tab route) bool { return tab.path == r.path })
		if r.path != anyFile && !isTab {
			routed = append(routed, r.method+" "+r.path)
		}
	}
	described := paths(string(openapi))
	for _, v := range routed {
		if !slices.Contains(described, v) {
			t.Errorf("openapi.yaml does not describe %s", v)
		}
	}
	for _, v := range described {
		if !slices.Contains(routed, v) {
			t.Errorf("openapi.yaml describes %s, and there is no such route", v)
		}
	}
	if len(described) < 20 {
		t.Errorf("%d paths were found in openapi.yaml", len(described))
	}
}

// paths returns the methods and paths of openapi.yaml, by their indentation.
func paths(text string) (all []string) {
	_, text, _ = strings.Cut(text, "\npaths:\n")
	path := ""
	for line := range strings.Lines(text) {
		indent := len(line) - len(strings.TrimLeft(line, " "))
		word := strings.TrimSuffix(strings.TrimSpace(line), ":")
		switch {
		case indent == 0:
			return all // the paths have ended
		case indent == 2:
			path = word
		case indent == 4 && slices.Contains([]string{"get", "post", "put", "delete"}, word):
			all = append(all, strings.ToUpper(word)+" "+path)
		}
	}
	return all
}

// TestCodesAreDescribed asks that openapi.yaml lists every code of a problem.
func TestCodesAreDescribed(t *testing.T) {
	for _, p := range replyProblems {
		if !strings.Contains(string(openapi), p.code) {
			t.Errorf("openapi.yaml does not list the code %s", p.code)
		}
	}
}

// TestReady asks that /readyz says why the server is not ready.
func TestReady(t *testing.T) {
	h := New(Config{Ready: func() error { return errors.New("writes are refused: the disk is full") }})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/readyz", nil))
	if w.Code != 503 || !strings.Contains(w.Body.String(), "the disk is full") {
		t.Errorf("readyz = %d %s", w.Code, w.Body)
	}
	w = httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/livez", nil))
	if w.Code != 200 {
		t.Errorf("livez = %d %s", w.Code, w.Body)
	}
}

// TestRescue asks that a fault in a request is a response and a line of the log, and
// that it is over then.
func TestRescue(t *testing.T) {
	h := New(Config{Ready: func() error { panic("broken") }})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/readyz", nil))
	if w.Code != 500 || strings.Contains(w.Body.String(), "broken") {
		t.Errorf("a fault = %d %s", w.Code, w.Body)
	}
	h.End()
	h.Wait()
}

// FuzzName asks that every name has a segment that leads back to it, and that a
// segment that is taken stands for one name.
func FuzzName(f *testing.F) {
	for _, name := range []string{"", ".", "..", "~", "a/b", "\xff", "%", "ü"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/"+refOf(name), nil)
		if strings.ContainsAny(refOf(name), "/?#") || r.URL.EscapedPath() != "/"+refOf(name) {
			t.Fatalf("%q is the segment %q", name, refOf(name))
		}
		if got, err := readRef(strings.TrimPrefix(r.URL.Path, "/")); err != nil || got != name {
			t.Fatalf("%q -> %q -> %q, %v", name, refOf(name), got, err)
		}
		if got, err := readRef(name); err == nil && !strings.HasPrefix(name, "~") && got != name {
			t.Fatalf("the segment %q is %q", name, got)
		}
	})
}

// TestPercentile compares percentiles with those of the calls themselves: they are in
// the same span.
func TestPercentile(t *testing.T) {
	var calls timings
	for i := range 1000 { // 900 calls of up to 4 µs, 99 of up to 16, one of up to 1024
		switch {
		case i < 900:
			calls.took[2]++
		case i < 999:
			calls.took[4]++
		default:
			calls.took[10]++
		}
	}
	for _, c := range []struct{ share, low, high float64 }{{0.5, 2.048, 4.096}, {0.9, 2.048, 4.096}, {0.99, 8.192, 16.384}, {0.999, 8.192, 16.384}, {0.9999, 524, 1049}, {1, 524, 1049}} {
		if got, ok := calls.percentile(c.share).(float64); !ok || got < c.low || got > c.high {
			t.Errorf("percentile(%v) = %v, want %v to %v", c.share, got, c.low, c.high)
		}
	}
	if got := new(timings).percentile(0.5); got != nil {
		t.Errorf("without calls: %v", got)
	}
	if got := decimal(math.NaN()); got != nil {
		t.Errorf("NaN = %v", got)
	}
}

// TestTimings reads what LATENCY HISTOGRAM answers.
func TestTimings(t *testing.T) {
	var spans []answer.Reply
	want, sum := timings{calls: 24}, int64(0)
	for i, micros := range []int64{1, 2, 4, 8, 16, 33, 66, 132, 264, 528, 1056, 2113, 4227, 8454, 16908, 33816, 67633, 135266, 270532, 541065, 1082130, 2164260, 4328521, 8657042} {
		want.took[i] = int64(i % 3)
		if sum += want.took[i]; want.took[i] > 0 {
			spans = append(spans, answer.Integer(micros), answer.Integer(sum))
		}
	}
	reply := answer.Pairs(answer.Text("ping"), answer.Pairs(answer.Text("calls"), answer.Integer(24), answer.Text("histogram_usec"), answer.Pairs(spans...)))
	if got := timingsOf(&reply)["ping"]; got != want {
		t.Errorf("timings = %v, want %v", got, want)
	}
}

// TestRecent asks that latencies are those of the last minute.
func TestRecent(t *testing.T) {
	var r recent
	now := time.Unix(1000, 0)
	counted := func(n int64) map[string]timings {
		v := timings{calls: n}
		v.took[3] = n
		return map[string]timings{"ping": v}
	}
	if before := r.pass(now, counted(10)); !before.at.IsZero() {
		t.Errorf("the first sample has one before it: %v", before.at)
	}
	for second := range 100 {
		before := r.pass(now.Add(time.Duration(second+1)*time.Second), counted(int64(10+second)))
		if age := now.Add(time.Duration(second+1) * time.Second).Sub(before.at); age > recentWindow || age < min(time.Duration(second+1)*time.Second, recentWindow-recentEvery) {
			t.Fatalf("after %d s the sample is %v old", second+1, age)
		}
	}
	late := counted(500)["ping"].since(counted(200)["ping"])
	if late.calls != 300 || late.took[3] != 300 {
		t.Errorf("since = %+v", late)
	}
	if reset := counted(5)["ping"].since(counted(200)["ping"]); reset.calls != 5 {
		t.Errorf("after a reset = %+v", reset)
	}
	if before := r.pass(now.Add(time.Hour), counted(1)); !before.at.IsZero() {
		t.Error("a sample of an hour ago is used")
	}
}

// TestSubstring asks that a search finds text as it is, in letters of any case.
func TestSubstring(t *testing.T) {
	for text, want := range map[string]string{
		`Ab*[1]\`: `*[aA][bB]\*\[1\]\\*`, "azAZ": "*[aA][zZ][aA][zZ]*", "@[`{": "*@\\[`{*", "?^-]": `*\?\^\-\]*`, "": "**", "é": "*é*",
	} {
		if got := substring(text); got != want {
			t.Errorf("pattern of %q = %s, want %s", text, got, want)
		}
	}
}

// TestRestAfter asks that looks that take long are rare, and that a stream goes on
// after one that had to wait.
func TestRestAfter(t *testing.T) {
	for took, want := range map[time.Duration]time.Duration{
		0: time.Second, 50 * time.Millisecond: time.Second, 100 * time.Millisecond: 2 * time.Second, time.Hour: 10 * time.Second,
	} {
		if got := restAfter(took); got != want {
			t.Errorf("after a look of %v a stream rests for %v, want %v", took, got, want)
		}
	}
}

// TestLimitsAreDescribed asks that views of filters are held to the limits of
// openapi.yaml, and names are shown up to theirs.
func TestLimitsAreDescribed(t *testing.T) {
	for _, line := range []string{
		fmt.Sprintf("schema: {type: integer, minimum: 0, maximum: %d, default: %d}", mostPage, usualPage),
		fmt.Sprintf("schema: {type: string, maxLength: %d}", longName),
		fmt.Sprintf("maxItems: %d\n", mostItems),
	} {
		if !strings.Contains(string(openapi), line) {
			t.Errorf("openapi.yaml does not have %q", line)
		}
	}
	for field, most := range map[string]int{"limit": mostPage, "offset": math.MaxInt32} {
		v, err := readView(url.Values{field: {strconv.Itoa(most)}}, 7)
		if err != nil || field == "limit" && v != (view{"*", "name", false, 0, most}) || field == "offset" && v != (view{"*", "name", false, most, 7}) {
			t.Errorf("%s=%d is %+v, %v", field, most, v, err)
		}
		if v, err := readView(url.Values{field: {strconv.Itoa(most + 1)}}, 7); err == nil {
			t.Errorf("%s=%d is %+v", field, most+1, v)
		}
	}
	long := strings.Repeat("n", longName)
	for _, field := range []string{"match", "search"} {
		if _, err := readView(url.Values{field: {long}}, 7); err != nil {
			t.Errorf("%s of %d bytes: %v", field, longName, err)
		}
		if v, err := readView(url.Values{field: {long + "n"}}, 7); err == nil {
			t.Errorf("%s of %d bytes is %+v", field, longName+1, v)
		}
	}
	o := object{}
	if putName(o, long); o["name"] != long || o["ref"] != long || o["name_bytes"] != nil {
		t.Errorf("a name of %d bytes is %.80v", longName, o)
	}
	if putName(o, long+"n"); o["name"] != long+"…" || o["ref"] != nil || o["name_bytes"] != longName+1 {
		t.Errorf("a name of %d bytes is %.80v", longName+1, o)
	}
}
