package server_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server"
)

// fetch asks a handler for a path as a browser does, and returns the response and its
// body, unpacked, with the number of bytes that came.
func fetch(t *testing.T, h http.Handler, target string, header ...string) (*http.Response, string, int) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, http.NoBody)
	r.RemoteAddr, r.Host = "127.0.0.1:1234", "127.0.0.1"
	r.Header.Set("Accept-Encoding", "gzip")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	response := w.Result()
	data, size := w.Body.Bytes(), w.Body.Len()
	if response.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if data, err = io.ReadAll(z); err != nil {
			t.Fatal(err)
		}
	}
	return response, string(data), size
}

// references finds what a file of the page loads: scripts, style sheets, modules.
var references = regexp.MustCompile(`(?:src|href)="([\w.-]+\.(?:js|css|svg))"|from "\./([\w.-]+\.js)"|style\("([\w.-]+\.css)"\)`)

// TestFirstView adds up what a browser loads before it shows a tab: less than 100 kB,
// and nothing from elsewhere.
func TestFirstView(t *testing.T) {
	h := server.Page()
	for tab, module := range map[string]string{"calculator": "calculator.js", "how": "how.js"} {
		total, seen, queue := 0, map[string]bool{}, []string{tab, module}
		for len(queue) > 0 {
			name := queue[0]
			queue = queue[1:]
			if seen[name] {
				continue
			}
			seen[name] = true
			response, text, size := fetch(t, h, "/"+name)
			if response.StatusCode != http.StatusOK {
				t.Fatalf("/%s = %s", name, response.Status)
			}
			total += size
			if path.Ext(name) != "" && strings.Contains(text, "://") && !strings.Contains(text, "http://www.w3.org/2000/svg") {
				t.Errorf("%s names another host", name)
			}
			for _, m := range references.FindAllStringSubmatch(text, -1) {
				queue = append(queue, m[1]+m[2]+m[3])
			}
		}
		t.Logf("/%s: %d bytes in %d files", tab, total, len(seen))
		if total >= 100_000 || len(seen) < 8 {
			t.Errorf("/%s loads %d bytes in %d files, want less than 100 kB", tab, total, len(seen))
		}
	}
}

// TestPagePolicy holds every response to the policy that allows nothing inline, and
// every page to have nothing inline.
func TestPagePolicy(t *testing.T) {
	s, _, _ := serveHTTP(t, server.Config{})
	inline := regexp.MustCompile(`(?i)\sstyle=|\son\w+=|<style|<script(?:>|[^>]*[^"]>)[^<]|javascript:`)
	for _, target := range []string{"/", "/filters", "/filters?name=nosuch", "/calculator", "/how", "/app.js", "/style.css", "/nosuch"} {
		response, text, _ := fetch(t, s.Handler(), target)
		if policy := response.Header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'self'") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s has the policy %q", target, policy)
		}
		if found := inline.FindString(text); found != "" && strings.HasPrefix(text, "<!doctype") {
			t.Errorf("%s has %q inline", target, found)
		}
	}
}

// TestFullFilterPage shows a filter whose bits are all set: how many items it holds, nobody
// knows.
func TestFullFilterPage(t *testing.T) {
	s, _, _ := serveHTTP(t, server.Config{})
	c := dial(t, s.Addr().String())
	c.do("FILTER.CREATE", "full", "bloom", "CAPACITY", "10")
	items := []string{"FILTER.ADD", "full"}
	for i := range 10_000 {
		items = append(items, fmt.Sprint(i))
	}
	c.do(items...)
	response, text, _ := fetch(t, s.Handler(), "/filters?name=full")
	if response.StatusCode != http.StatusOK || !strings.Contains(text, "9,223,372,036,854,775,807") {
		t.Errorf("the page of a full filter is %s: %.2000s", response.Status, text)
	}
}

// TestFollowersOnThePage shows who follows a filter, whatever it calls itself.
func TestFollowersOnThePage(t *testing.T) {
	s, _, _ := serveHTTP(t, server.Config{})
	c := dial(t, s.Addr().String())
	c.do("FILTER.CREATE", "f", "bloom", "CAPACITY", "10")
	if _, text, _ := fetch(t, s.Handler(), "/filters?name=f"); strings.Contains(text, "Followers") {
		t.Error("the page shows followers before there are any")
	}
	c.do("FILTER.NEWS", "f", "NAME", "<script>alert(1)</script>", "VERSION", "1234", "AGE", "7200000")
	c.do("FILTER.NEWS", "f", "NAME", "\"onload='x'&amp;")
	_, text, _ := fetch(t, s.Handler(), "/filters?name=f")
	for _, want := range []string{"Followers", "&lt;script&gt;alert(1)", "1,234", "&amp;amp;", "not said"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if strings.Contains(text, "<script>alert") || strings.Contains(text, "\"onload='") {
		t.Error("a name is not escaped")
	}
	_, text, _ = fetch(t, s.Handler(), "/api/v1/filters/f")
	if !strings.Contains(text, `"version":1234`) || !strings.Contains(text, `"age":7200`) {
		t.Errorf("the API answers %s", text)
	}
}

// TestFiltersPage reads the table as a browser without scripts does.
func TestFiltersPage(t *testing.T) {
	s, _, _ := serveHTTP(t, server.Config{})
	c := dial(t, s.Addr().String())
	for i := range 120 {
		c.do("FILTER.CREATE", fmt.Sprintf("set:%03d", i), "bloom", "CAPACITY", fmt.Sprint(100+i))
	}
	c.do("CMS.INITBYDIM", "sketch", "100", "5")
	rows := func(query string) []string {
		t.Helper()
		response, text, _ := fetch(t, s.Handler(), "/filters"+query)
		if response.StatusCode != http.StatusOK {
			t.Fatalf("/filters%s = %s: %s", query, response.Status, text)
		}
		var names []string
		for _, m := range regexp.MustCompile(`<tr class="link" data-key="([^"]*)"`).FindAllStringSubmatch(text, -1) {
			names = append(names, m[1])
		}
		return names
	}
	for _, test := range []struct {
		query, first string
		n            int
	}{
		{"", "set:000", 50},
		{"?per=200", "set:000", 121},
		{"?page=2", "set:050", 50},
		{"?page=999", "set:100", 21},
		{"?dir=desc", "sketch", 50},
		{"?q=SET:11", "set:110", 10},
		{"?q=set*5", "set:005", 12},
		{"?sort=bytes&dir=desc&per=25", "", 25},
		{"?q=nothing", "", 0},
		{"?q=sketch", "sketch", 1},
	} {
		names := rows(test.query)
		if len(names) != test.n || test.first != "" && names[0] != test.first {
			t.Errorf("/filters%s shows %d rows from %q on, want %d from %q on", test.query, len(names), names[:min(1, len(names))], test.n, test.first)
		}
	}
	// What is wrong with the address is said, and the table is shown all the same.
	for query, want := range map[string]string{
		"?per=0": "from 1 to 200", "?per=201": "from 1 to 200", "?page=-1": "A whole number", "?page=x": "A whole number",
		"?sort=colour": "no such column", "?dir=up": "asc or desc", "?q=" + strings.Repeat("x", 300): "at most 200 characters",
	} {
		response, text, _ := fetch(t, s.Handler(), "/filters"+query)
		if response.StatusCode != http.StatusOK || !strings.Contains(text, want) || !strings.Contains(text, "set:000") {
			t.Errorf("/filters%.20s = %s, without %q or without rows", query, response.Status, want)
		}
	}
}

// TestPageOfNames shows names of any bytes without harm.
func TestPageOfNames(t *testing.T) {
	s, _, _ := serveHTTP(t, server.Config{})
	c := dial(t, s.Addr().String())
	for _, name := range []string{"<script>alert(1)</script>", `" onclick="x`, "\xff\x00", "..", "~", "a/b?c&d", strings.Repeat("long", 2000)} {
		c.do("FLUSHALL")
		c.do("FILTER.CREATE", name, "bloom", "CAPACITY", "100")
		_, text, _ := fetch(t, s.Handler(), "/filters")
		if strings.Contains(text, "<script>alert") || strings.Contains(text, `" onclick="x`) {
			t.Errorf("%q is in the page as it is", name)
		}
		link := regexp.MustCompile(`href="(filters\?name=[^"]*)"`).FindStringSubmatch(text)
		if link == nil {
			if len(name) < 1024 {
				t.Errorf("%q has no link", name)
			}
			continue
		}
		target := strings.ReplaceAll(link[1], "&amp;", "&")
		if response, _, _ := fetch(t, s.Handler(), "/"+target); response.StatusCode != http.StatusOK {
			t.Errorf("the link of %q, %s, leads to %s", name, target, response.Status)
		}
	}
}

// TestPageAsksWhoYouAre asks a person who wants to sign in with the browser's own
// dialog, and a script never.
func TestPageAsksWhoYouAre(t *testing.T) {
	s, _, _ := serveHTTP(t, server.Config{Password: "secret", HTTPToken: "token"})
	for _, test := range []struct {
		target, mode string
		challenges   int
	}{
		{"/filters", "navigate", 0},
		{"/filters?signin", "navigate", 2},
		{"/?signin", "", 2},
		{"/filters?signin", "cors", 1},
		{"/api/v1/filters", "navigate", 2},
		{"/api/v1/filters", "", 2},
		{"/api/v1/filters", "cors", 1},
		{"/api/v1/events", "same-origin", 1},
	} {
		response, text, _ := fetch(t, s.Handler(), test.target, "Sec-Fetch-Mode", test.mode)
		if n := len(response.Header.Values("WWW-Authenticate")); response.StatusCode != http.StatusUnauthorized || n != test.challenges {
			t.Errorf("%s, %q = %s with %d challenges, want %d", test.target, test.mode, response.Status, n, test.challenges)
		}
		if strings.Contains(text, "<table") {
			t.Errorf("%s shows data", test.target)
		}
	}
	if response, _, _ := fetch(t, s.Handler(), "/filters", "Authorization", "Bearer token"); response.StatusCode != http.StatusOK {
		t.Errorf("with the token = %s", response.Status)
	}
	if response, _, _ := fetch(t, s.Handler(), "/calculator"); response.StatusCode != http.StatusOK {
		t.Errorf("the calculator = %s", response.Status)
	}
}

// TestPageUnderPrefix mounts the page under a prefix: all of its links are relative.
func TestPageUnderPrefix(t *testing.T) {
	s, _, _ := serveHTTP(t, server.Config{HTTPAdmin: true})
	c := dial(t, s.Addr().String())
	c.do("FILTER.CREATE", "seen", "bloom")
	mux := http.NewServeMux()
	mux.Handle("/tools/bloom/", http.StripPrefix("/tools/bloom", s.Handler()))
	absolute := regexp.MustCompile(`(?:href|src|action|data-api)="(?:/|\w+:)[^"]*"`)
	for _, target := range []string{"/", "/filters", "/filters?name=seen", "/calculator", "/how", "/style.css"} {
		response, text, _ := fetch(t, mux, "/tools/bloom"+target)
		if response.StatusCode != http.StatusOK {
			t.Errorf("%s under a prefix = %s", target, response.Status)
		}
		if found := absolute.FindString(text); found != "" {
			t.Errorf("%s has %s", target, found)
		}
	}
}
