package server_test

import (
	"encoding/base64"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/server"
)

// TestHTTPNews asks that a page can keep a copy of a filter: its file, nothing while nothing
// changes, and what has changed.
func TestHTTPNews(t *testing.T) {
	b, s := surf(t, server.Config{})
	c := inside(t, s)
	c.expect("+OK\r\n", "FILTER.CREATE", "users", "bloom")
	c.expect("*1\r\n:1\r\n", "FILTER.ADD", "users", "alice")
	const file, news = "/api/v1/filters/users/file", "/api/v1/filters/users/news"
	read := func(b *browser, path string, status int) (tag, body string) {
		t.Helper()
		r := b.do("GET", path, "")
		data, err := io.ReadAll(r.Body)
		if err != nil || r.StatusCode != status || r.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Fatalf("%s: %d %s, %v", path, r.StatusCode, data, err)
		}
		return r.Header.Get("ETag"), string(data)
	}
	tag, data := read(b, file, 200)
	plain, err := codec.Decompress(nil, []byte(data))
	if err != nil {
		t.Fatal(err)
	}
	v, err := codec.Config{}.View(plain)
	if err != nil || !v.ContainsString("alice") || v.ContainsString("bob") {
		t.Fatalf("the file has alice: %v", err)
	}
	for _, path := range []string{file, news} {
		if same, body := read(b.with("If-None-Match", `"other", W/`+tag), path, 304); same != tag || body != "" {
			t.Errorf("%s: nothing is new, and %s, %q is answered", path, same, body)
		}
		if same, body := read(b.with("If-None-Match", "*"), path, 304); same != tag || body != "" {
			t.Errorf("%s: there is something, and %s, %q is answered", path, same, body)
		}
		if other, _ := read(b.with("If-None-Match", `"other"`), path, 200); other != tag {
			t.Errorf("%s: the tag of something else gets %s", path, other)
		}
	}
	c.expect("*1\r\n:1\r\n", "FILTER.ADD", "users", "bob")
	if later, data := read(b.with("If-None-Match", tag), file, 200); later == tag || data == "" {
		t.Errorf("something is new, and %s is answered", later)
	}
	answer := b.get(news + "?since=" + strings.Trim(tag, `"`))
	piece := answer["pieces"].([]any)[0].(map[string]any)
	if bits, err := base64.StdEncoding.DecodeString(piece["data"].(string)); err != nil || piece["form"] != "bits" || len(bits) == 0 || len(bits) > 40 {
		t.Errorf("the news are %v", answer)
	}
	b.expect(400, "invalid", "GET", news+"?since=nonsense", "")
	b.expect(400, "invalid", "GET", news+"?max=1", "")
	b.expect(404, "not_found", "GET", "/api/v1/filters/none/file", "")
	c.expect("+OK\r\n", "FILTER.CREATE", "wide", "bloom", "PARTS", "2")
	c.expect("*2\r\n:1\r\n:1\r\n", "FILTER.ADD", "wide", "alice", "bob")
	tag, data = read(b, "/api/v1/filters/wide/file", 200)
	wide, err := codec.Decompress(nil, []byte(data))
	if err != nil {
		t.Fatal(err)
	}
	stripes, err := codec.Open(wide)
	if err != nil || !stripes.Contains([]byte("alice")) || !stripes.Contains([]byte("bob")) || stripes.Contains([]byte("carol")) {
		t.Errorf("the file of two parts: %v", err)
	}
	read(b.with("If-None-Match", tag), "/api/v1/filters/wide/file", 304)
	c.expect("*1\r\n:1\r\n", "FILTER.ADD", "wide", "carol")
	if later, _ := read(b.with("If-None-Match", tag), "/api/v1/filters/wide/file", 200); later == tag {
		t.Error("something is new, and the tag is the old one")
	}
}

// TestHTTPOrigins asks that pages of other sites may read copies of filters if their origin is
// given, and nothing else ever.
func TestHTTPOrigins(t *testing.T) {
	b, s := surf(t, server.Config{HTTPOrigins: []string{"HTTPS://Example.org"}, HTTPAdmin: true})
	inside(t, s).expect("+OK\r\n", "FILTER.CREATE", "users", "bloom")
	ours, others := b.with("Origin", "https://example.org"), b.with("Origin", "https://example.org.evil")
	for path, shared := range map[string]bool{"/api/v1/filters/users/file": true, "/api/v1/filters/users/news": true, "/api/v1/filters/users": false, "/api/v1/filters": false} {
		for from, want := range map[*browser]string{ours: "https://example.org", others: "", b: ""} {
			if !shared {
				want = ""
			}
			if got := from.do("GET", path, "").Header.Get("Access-Control-Allow-Origin"); got != want {
				t.Errorf("GET %s allows %q, want %q", path, got, want)
			}
			r := from.with("Access-Control-Request-Method", "GET").do(http.MethodOptions, path, "")
			if got := r.Header.Get("Access-Control-Allow-Origin"); got != want || (r.StatusCode == http.StatusNoContent) != (want != "") {
				t.Errorf("OPTIONS %s: %d, allows %q, want %q", path, r.StatusCode, got, want)
			}
		}
	}
	ours.expect(403, "cross_origin", "POST", "/api/v1/filters", createUsers)
	for _, wrong := range []string{"example.org", "https://example.org/", "https://", "https://a b"} {
		if s, err := server.New(t.Context(), server.Config{Addr: []string{"127.0.0.1:0"}, HTTPOrigins: []string{wrong}}); err == nil {
			_ = s.Close()
			t.Errorf("%q is taken as an origin", wrong)
		}
	}
}
