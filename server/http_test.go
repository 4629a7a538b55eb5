package server_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server"
)

// unixClient returns a client of a socket.
func unixClient(path string) *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}}}
}

// browser sends requests to a handler.
type browser struct {
	t testing.TB
	h http.Handler
	// head is sent with every request; Host and Remote take the place of
	// localhost and an address of this machine.
	head         http.Header
	host, remote string
	tls          *tls.ConnectionState
}

// surf returns a browser of a server that is not served over a network.
func surf(tb testing.TB, c server.Config) (*browser, *server.Server) {
	tb.Helper()
	if len(c.Addr) == 0 {
		c.Addr = []string{"127.0.0.1:0"}
	}
	s, err := server.New(context.Background(), c)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close() })
	return &browser{t: tb, h: s.Handler(), head: http.Header{}, host: "localhost:8379", remote: "127.0.0.1:5000"}, s
}

// with returns the same browser with a header more.
func (b *browser) with(name, value string) *browser {
	c := *b
	c.head = b.head.Clone()
	c.head.Set(name, value)
	return &c
}

// do sends a request and returns the response.
func (b *browser) do(method, path, body string) *http.Response {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, path, strings.NewReader(body))
	if err != nil {
		b.t.Fatalf("%s %s: %v", method, path, err)
	}
	r.Host, r.RemoteAddr, r.RequestURI = b.host, b.remote, path
	r.TLS = b.tls
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	maps.Copy(r.Header, b.head)
	w := httptest.NewRecorder()
	b.h.ServeHTTP(w, r)
	return w.Result()
}

// expect asks for a status and, if code is not "", for the code of a problem. It
// returns the body.
func (b *browser) expect(status int, code, method, path, body string) map[string]any {
	b.t.Helper()
	res := b.do(method, path, body)
	text, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	var v map[string]any
	if err := json.Unmarshal(text, &v); err != nil && strings.HasPrefix(res.Header.Get("Content-Type"), "application/json") {
		b.t.Fatalf("%s %s = %d %q: %v", method, path, res.StatusCode, text, err)
	}
	got := ""
	if e, ok := v["error"].(map[string]any); ok {
		got, _ = e["code"].(string)
		if m, _ := e["message"].(string); m == "" {
			b.t.Errorf("%s %s: no message in %s", method, path, text)
		}
	}
	if res.StatusCode != status || got != code {
		b.t.Fatalf("%s %s = %d, code %q, want %d, %q: %.300s", method, path, res.StatusCode, got, status, code, text)
	}
	return v
}

// get is expect for a GET that succeeds.
func (b *browser) get(path string) map[string]any {
	b.t.Helper()
	return b.expect(200, "", "GET", path, "")
}

// post is expect for a POST that succeeds with 200.
func (b *browser) post(path, body string) map[string]any {
	b.t.Helper()
	return b.expect(200, "", "POST", path, body)
}

const createUsers = `{"name": "users", "kind": "bloom", "capacity": 1000}`

// TestHTTPListens serves HTTP on a port and on a path, and answers a client of each.
func TestHTTPListens(t *testing.T) {
	path := filepath.Join(t.TempDir(), "http")
	s := open0(t, server.Config{HTTP: []string{"127.0.0.1:0", "unix:" + path}, ProtectedMode: true, HTTPAdmin: true})
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(t.Context()) }()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	url := "http://" + s.HTTPAddr().String()
	for _, path := range []string{"/livez", "/readyz", "/", "/api/v1/filters"} {
		res, err := client.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		if res.StatusCode != http.StatusOK {
			t.Errorf("GET %s = %s", path, res.Status)
		}
	}
	for host, status := range map[string]int{"evil.example": 421, "localhost": 200} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/api/v1/filters", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		res, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != status {
			t.Errorf("GET as %s = %s, want %d", host, res.Status, status)
		}
	}
	local := unixClient(path)
	defer local.CloseIdleConnections()
	res, err := local.Post("http://localhost/api/v1/filters", "application/json", strings.NewReader(createUsers))
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusCreated {
		t.Errorf("create over a path = %s", res.Status)
	}
	dial(t, s.Addr().String()).expect(":1\r\n", "EXISTS", "users")
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := client.Get(url + "/livez"); err == nil {
		t.Error("HTTP is served after Close")
	}
}

// TestHTTPPortTaken asks that an address that is taken is an error that says what to
// do, and leaves nothing open.
func TestHTTPPortTaken(t *testing.T) {
	first := open0(t, server.Config{HTTP: []string{"127.0.0.1:0"}})
	taken := first.HTTPAddr().String()
	_, err := server.New(t.Context(), server.Config{Addr: []string{"127.0.0.1:0"}, HTTP: []string{"127.0.0.1:0", taken}, Dir: t.TempDir()})
	p, ok := errors.AsType[*server.PortError](err)
	if !ok || p.Addr != taken || !strings.Contains(p.Hint, "--http") {
		t.Errorf("New on a taken port = %v", err)
	}
	for _, bad := range []string{"8379", "unix:", "localhost"} {
		if err := (server.Config{HTTP: []string{bad}}).Check(); err == nil {
			t.Errorf("HTTP %q is taken", bad)
		}
	}
}

// TestHTTPMounted mounts the handler in another program's mux, under a prefix.
func TestHTTPMounted(t *testing.T) {
	b, s := surf(t, server.Config{HTTPAdmin: true})
	if s.HTTPAddr() != nil {
		t.Errorf("HTTPAddr = %v without an address", s.HTTPAddr())
	}
	mux := http.NewServeMux()
	mux.Handle("/filters/", http.StripPrefix("/filters", s.Handler()))
	b.h = mux
	if got := b.expect(201, "", "POST", "/filters/api/v1/filters", `{"name": "a/b", "kind": "bloom"}`)["ref"]; got != "a%2Fb" {
		t.Errorf("ref = %v", got)
	}
	if got := b.get("/filters/api/v1/filters/a%2Fb")["name"]; got != "a/b" {
		t.Errorf("name = %v", got)
	}
	b.get("/filters/livez")
	b.get("/filters/")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	b.expect(503, "ending", "GET", "/filters/livez", "")
	b.expect(503, "ending", "GET", "/filters/api/v1/filters", "")
}

// TestHTTPPaths asks for JSON where there is nothing, and for the methods of a path.
func TestHTTPPaths(t *testing.T) {
	b, _ := surf(t, server.Config{})
	b.expect(404, "no_such_path", "GET", "/nothing", "")
	b.expect(404, "no_such_path", "GET", "/api/v1/nothing", "")
	b.expect(404, "no_such_path", "POST", "/api/v2/filters", "")
	b.expect(405, "method_not_allowed", "PUT", "/api/v1/filters", "")
	b.expect(405, "method_not_allowed", "OPTIONS", "/api/v1/filters", "")
	if got := b.do("PATCH", "/api/v1/filters", "").Header.Get("Allow"); got != "GET, POST" {
		t.Errorf("Allow = %q", got)
	}
	person := b.with("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
	for path, link := range map[string]string{"/nothing": `href="./"`, "/a/b/nothing": `href="./../../"`} {
		res := person.do("GET", path, "")
		page, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusNotFound || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") || !strings.Contains(string(page), link) {
			t.Errorf("%s in a browser = %d %q, %v", path, res.StatusCode, page, err)
		}
	}
	person.expect(404, "no_such_path", "GET", "/api/v1/nothing", "")
	for _, path := range []string{"/", "/api/v1/filters", "/api/v1/events"} { // the last does not stream
		if res := b.do("HEAD", path, ""); res.StatusCode != http.StatusOK {
			t.Errorf("HEAD %s = %d", path, res.StatusCode)
		}
	}
}

// TestHTTPHeaders asks for the headers that keep other sites out of every response.
func TestHTTPHeaders(t *testing.T) {
	b, _ := surf(t, server.Config{})
	for _, path := range []string{"/", "/livez", "/api/v1/filters", "/nothing"} {
		head := b.with("Origin", "https://other.example").do("GET", path, "").Header
		if !strings.HasPrefix(head.Get("Content-Security-Policy"), "default-src 'self'") || head.Get("X-Content-Type-Options") != "nosniff" || head.Get("X-Frame-Options") != "DENY" {
			t.Errorf("%s: headers %v", path, head)
		}
		for name := range head {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("%s: %s allows other origins", path, name)
			}
		}
	}
}

// TestHTTPProtectedMode asks that other machines get nothing while there is no
// password, but for the probes, and that the token lets them in.
func TestHTTPProtectedMode(t *testing.T) {
	b, _ := surf(t, server.Config{ProtectedMode: true})
	b.get("/api/v1/filters")
	for _, remote := range []string{"192.0.2.7:999", "[2001:db8::1]:999", "nonsense", ""} {
		b.remote = remote
		b.expect(403, "protected", "GET", "/api/v1/filters", "")
		b.expect(403, "protected", "GET", "/", "")
		b.get("/livez")
		b.get("/readyz")
	}
	b.remote = "[::ffff:127.0.0.1]:999"
	b.get("/api/v1/filters")
	b.remote, b.tls = "192.0.2.7:999", &tls.ConnectionState{}
	b.expect(403, "protected", "GET", "/api/v1/filters", "")
	b.tls.VerifiedChains = [][]*x509.Certificate{{}} // the client has a certificate
	b.get("/api/v1/filters")

	b, _ = surf(t, server.Config{ProtectedMode: true, HTTPToken: "letmein"})
	b.remote = "192.0.2.7:999"
	b.expect(403, "protected", "GET", "/api/v1/filters", "")
	b.with("Authorization", "Bearer letmein").get("/api/v1/filters")
	if res := b.do("GET", "/", ""); res.StatusCode != http.StatusForbidden || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") { // it asks for the token
		t.Errorf("the page = %d, %v", res.StatusCode, res.Header)
	}
	if res := b.do("GET", "/calculator", ""); res.StatusCode != http.StatusOK {
		t.Errorf("the calculator = %d", res.StatusCode)
	}
}

// TestHTTPHosts asks that a name that somebody else has given this machine's address
// gets nothing: a page under that name would be of the same origin.
func TestHTTPHosts(t *testing.T) {
	b, _ := surf(t, server.Config{HTTP: []string{"localhost:0"}, HTTPHosts: []string{"Filters.example"}, HTTPToken: "letmein", HTTPAdmin: true})
	for host, ok := range map[string]bool{
		"localhost": true, "LOCALHOST:8379": true, "127.0.0.1:8379": true, "[::1]:8379": true, "[::1]": true, "10.1.2.3": true, "a.localhost": true,
		"filters.example:80": true, "filters.example.": true,
		"evil.example": false, "notlocalhost": false, "localhost.evil.example:8379": false, "127.0.0.1.evil.example": false, "": false, "filters.example.evil": false,
	} {
		b.host = host
		if ok {
			b.get("/api/v1/filters")
			continue
		}
		b.expect(421, "unknown_host", "GET", "/api/v1/filters", "")
		b.expect(421, "unknown_host", "POST", "/api/v1/filters", createUsers)
		b.with("Authorization", "Bearer letmein").get("/api/v1/filters")
	}
	b, _ = surf(t, server.Config{HTTPHosts: []string{"*"}})
	b.host = "any.example"
	b.get("/api/v1/filters")
}

// TestHTTPReadOnly asks that nothing can be changed unless that is allowed.
func TestHTTPReadOnly(t *testing.T) {
	b, s := surf(t, server.Config{HTTPToken: "letmein"})
	c := inside(t, s)
	c.expect("+OK\r\n", "FILTER.CREATE", "users", "bloom")
	with := b.with("Authorization", "Bearer letmein")
	for _, request := range [][3]string{
		{"POST", "/api/v1/filters", `{"name": "more", "kind": "bloom"}`}, {"DELETE", "/api/v1/filters/users", ""}, {"POST", "/api/v1/filters/users/add", `{"items": ["a"]}`},
		{"POST", "/api/v1/filters/users/del", `{"items": ["a"]}`}, {"POST", "/api/v1/filters/users/grow", "{}"}, {"POST", "/api/v1/filters/users/fold", "{}"},
		{"POST", "/api/v1/filters/users/clear", "{}"}, {"POST", "/api/v1/filters/users/compact", "{}"}, {"POST", "/api/v1/filters/users/rebuild", `{"step": "begin"}`},
	} {
		with.expect(403, "read_only", request[0], request[1], request[2])
	}
	with.post("/api/v1/filters/users/has", `{"items": ["a"]}`)
	c.expect(":1\r\n", "DBSIZE")
	c.expect(":0\r\n", "FILTER.CARD", "users")
}

// TestHTTPToken asks that changes need the token, if there is one.
func TestHTTPToken(t *testing.T) {
	b, _ := surf(t, server.Config{HTTPToken: "letmein", HTTPAdmin: true})
	b.get("/api/v1/filters")
	b.expect(401, "unauthorized", "POST", "/api/v1/filters", createUsers)
	for _, wrong := range []string{"Bearer wrong", "Bearer ", "Bearer letmeinn", "Bearer letmei", "bearer", "Token letmein", "Basic letmein"} {
		b.with("Authorization", wrong).expect(401, "unauthorized", "POST", "/api/v1/filters", createUsers)
		b.with("Authorization", wrong).expect(401, "unauthorized", "GET", "/api/v1/filters", "")
	}
	if got := b.do("POST", "/api/v1/filters", createUsers).Header.Values("WWW-Authenticate"); len(got) != 2 {
		t.Errorf("WWW-Authenticate = %q", got)
	}
	for i, right := range []string{"Bearer letmein", "bearer  letmein", "Basic OmxldG1laW4="} { // the last is :letmein
		b.with("Authorization", right).expect(201, "", "POST", "/api/v1/filters", fmt.Sprintf(`{"name": "%d", "kind": "bloom"}`, i))
	}
	b, _ = surf(t, server.Config{HTTPAdmin: true}) // without one, an empty one is no token
	b.with("Authorization", "Bearer ").expect(401, "unauthorized", "GET", "/api/v1/filters", "")
	b.expect(201, "", "POST", "/api/v1/filters", createUsers)
}

// TestHTTPPassword asks that with a password everything needs it, or the token.
func TestHTTPPassword(t *testing.T) {
	b, s := surf(t, server.Config{Password: "secret", HTTPToken: "letmein", HTTPAdmin: true, ProtectedMode: true})
	b.expect(401, "unauthorized", "GET", "/api/v1/filters", "")
	b.expect(401, "unauthorized", "GET", "/api/v1/events", "")
	b.expect(401, "unauthorized", "POST", "/api/v1/filters", createUsers)
	b.get("/livez")
	for _, remote := range []string{"127.0.0.1:1", "192.0.2.7:1"} {
		b.remote = remote
		right, wrong := b.with("Authorization", "Basic ZGVmYXVsdDpzZWNyZXQ="), b.with("Authorization", "Basic ZGVmYXVsdDp3cm9uZw==") // default:secret, default:wrong
		right.get("/api/v1/filters")
		wrong.expect(401, "unauthorized", "GET", "/api/v1/filters", "")
		b.with("Authorization", "Bearer letmein").get("/api/v1/info")
		b.with("Authorization", "Basic bm9ib2R5OnNlY3JldA==").expect(401, "unauthorized", "GET", "/api/v1/filters", "") // nobody:secret
		right.expect(201, "", "POST", "/api/v1/filters", createUsers)
		right.expect(200, "", "DELETE", "/api/v1/filters/users", "")
	}
	c := inside(t, s)
	c.expect("+OK\r\n", "AUTH", "secret")
	if got := c.do("INFO", "commandstats"); !strings.Contains(got, "cmdstat_filter.create:calls=2,") {
		t.Errorf("the commands of HTTP are not counted: %s", got)
	}
}

// TestHTTPRights asks that a user can do over HTTP what his rights allow, and no more.
func TestHTTPRights(t *testing.T) {
	b, s := surf(t, server.Config{HTTPAdmin: true, ProtectedMode: true})
	c := inside(t, s)
	for _, name := range []string{"cache:a", "cache:b", "orders"} {
		c.expect("+OK\r\n", "FILTER.CREATE", name, "cuckoo", "CAPACITY", "1000")
	}
	c.expect("+OK\r\n", "ACL", "SETUSER", "alice", "on", ">wonder", "~cache:*", "+@read", "+filter.add", "addrate=10")
	alice := b.with("Authorization", "Basic YWxpY2U6d29uZGVy") // alice:wonder
	wantNames(t, alice.get("/api/v1/filters"), "cache:a", "cache:b")
	wantNames(t, alice.get("/api/v1/filters?search=orders"))
	alice.get("/api/v1/filters/cache:a")
	alice.expect(403, "forbidden", "GET", "/api/v1/filters/orders", "")
	alice.expect(403, "forbidden", "POST", "/api/v1/filters/orders/has", `{"items": ["a"]}`)
	alice.post("/api/v1/filters/cache:a/add", `{"items": ["a"]}`)
	alice.expect(403, "forbidden", "POST", "/api/v1/filters/orders/add", `{"items": ["a"]}`)
	alice.expect(403, "forbidden", "POST", "/api/v1/filters/cache:a/del", `{"items": ["a"]}`)
	alice.expect(403, "forbidden", "DELETE", "/api/v1/filters/cache:a", "")
	alice.expect(403, "forbidden", "POST", "/api/v1/filters", `{"name": "cache:c", "kind": "bloom"}`)
	alice.expect(429, "too_many_adds", "POST", "/api/v1/filters/cache:a/add", `{"items": ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"]}`)
	alice.expect(403, "forbidden", "GET", "/api/v1/info", "")
	alice.expect(403, "forbidden", "GET", "/api/v1/health", "") // it has totals of INFO
	alice.expect(403, "forbidden", "GET", "/api/v1/events", "")
	alice.expect(403, "forbidden", "GET", "/metrics", "")
	c.expect("+OK\r\n", "ACL", "SETUSER", "alice", "+info")
	if v := alice.get("/api/v1/info"); len(v["commands"].([]any)) != 0 || v["http"].(map[string]any)["may_write"] != true {
		t.Errorf("without LATENCY: %v", v)
	}
	alice.expect(403, "forbidden", "GET", "/metrics", "")
	alice.remote = "192.0.2.7:999" // she has a password: other machines may be hers
	alice.get("/api/v1/filters")
	b.with("Authorization", "Basic YWxpY2U6d3Jvbmc=").expect(401, "unauthorized", "GET", "/api/v1/filters", "") // alice:wrong
	c.expect(":1\r\n", "ACL", "DELUSER", "alice")
	alice.expect(401, "unauthorized", "GET", "/api/v1/filters", "")
}

// TestHTTPOtherSites asks that a browser cannot be made to change something by a page
// of another site.
func TestHTTPOtherSites(t *testing.T) {
	b, s := surf(t, server.Config{HTTPAdmin: true})
	for name, value := range map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"} {
		b.with(name, value).expect(403, "cross_origin", "POST", "/api/v1/filters", createUsers)
		b.with(name, value).expect(403, "cross_origin", "DELETE", "/api/v1/filters/users", "")
	}
	b.with("Sec-Fetch-Site", "same-site").expect(403, "cross_origin", "POST", "/api/v1/filters", createUsers)
	for _, kind := range []string{"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonp"} {
		b.with("Content-Type", kind).expect(415, "not_json", "POST", "/api/v1/filters", createUsers)
	}
	inside(t, s).expect(":0\r\n", "DBSIZE")
	b.with("Sec-Fetch-Site", "same-origin").with("Origin", "http://localhost:8379").with("Content-Type", "application/json; charset=utf-8").
		expect(201, "", "POST", "/api/v1/filters", createUsers)
}

// TestHTTPMonitor asks that commands of HTTP are seen as all others are, without
// their secrets.
func TestHTTPMonitor(t *testing.T) {
	b, s := surf(t, server.Config{Password: "secret", HTTPAdmin: true})
	c := inside(t, s)
	c.expect("+OK\r\n", "AUTH", "secret")
	c.expect("+OK\r\n", "MONITOR")
	b = b.with("Authorization", "Basic ZGVmYXVsdDpzZWNyZXQ=")
	b.expect(201, "", "POST", "/api/v1/filters", createUsers)
	var lines []string
	for range 2 {
		lines = append(lines, c.reply())
	}
	all := strings.Join(lines, "")
	if !strings.Contains(all, `"AUTH" "(redacted)" "(redacted)"`) || !strings.Contains(all, `"FILTER.CREATE" "(key)" "bloom"`) || strings.Contains(all, "secret") {
		t.Errorf("MONITOR shows %q", all)
	}
}

// filterNames returns the names of the filters in a response.
func filterNames(v map[string]any) (list []string) {
	for _, row := range v["filters"].([]any) {
		list = append(list, row.(map[string]any)["name"].(string))
	}
	return list
}

func wantNames(t *testing.T, v map[string]any, want ...string) {
	t.Helper()
	if got := filterNames(v); !slices.Equal(got, want) {
		t.Errorf("names = %q, want %q", got, want)
	}
}
