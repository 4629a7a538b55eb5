package server_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/internal/figures"
	"github.com/bloomery/bloomery/server"
)

// TestHTTPFilters creates filters, lists, describes and deletes them.
func TestHTTPFilters(t *testing.T) {
	b, s := surf(t, server.Config{HTTPAdmin: true})
	if v := b.get("/api/v1/filters"); v["total"] != 0.0 || len(filterNames(v)) != 0 {
		t.Errorf("without filters: %v", v)
	}
	res := b.do("POST", "/api/v1/filters", `{"name": "users", "kind": "bloom", "capacity": 1000, "error_rate": 0.001}`)
	if res.StatusCode != http.StatusCreated || res.Header.Get("Location") != "filters/users" {
		t.Fatalf("create = %s, Location %q", res.Status, res.Header.Get("Location"))
	}
	b.expect(409, "exists", "POST", "/api/v1/filters", createUsers)
	b.expect(201, "", "POST", "/api/v1/filters", `{"name": "like", "kind": "bloom", "like": "users"}`)
	b.expect(201, "", "POST", "/api/v1/filters", `{"name": "gone", "kind": "window", "capacity": 100, "span": "24h", "generations": 3, "burst": 1.5}`)
	c := inside(t, s)
	c.expect("+OK\r\n", "BF.RESERVE", "old", "0.01", "100")
	c.expect("+OK\r\n", "CF.RESERVE", "cuckoo", "100")
	c.expect("+OK\r\n", "SET", "string", "no filter")
	c.expect("+OK\r\n", "TOPK.RESERVE", "sketch", "3")
	wantNames(t, b.get("/api/v1/filters"), "cuckoo", "gone", "like", "old", "sketch", "users")

	v := b.get("/api/v1/filters/users")
	if v["name"] != "users" || v["kind"] != "bloom" || v["capacity"] != 1000.0 || v["asked"] != 0.001 || v["verdict"] != "OK" {
		t.Errorf("users = %v", v)
	}
	if cells := v["density"].(map[string]any)["cells"].([]any); len(cells) != 256 {
		t.Errorf("density has %d cells", len(cells))
	}
	if h := b.get("/api/v1/filters/users/health"); h["verdict"] != "OK" || h["reason"] == "" || h["ref"] != "users" {
		t.Errorf("health = %v", h)
	}
	if g := b.get("/api/v1/filters/gone")["layers"].([]any); len(g) == 0 || g[0].(map[string]any)["generation"] == nil {
		t.Errorf("generations = %v", g)
	}
	if v := b.get("/api/v1/filters/sketch"); v["kind"] != "topk" || v["k"] != 3.0 || v["verdict"] != nil {
		t.Errorf("sketch = %v", v)
	}
	b.expect(409, "wrong_type", "GET", "/api/v1/filters/string", "")
	b.expect(404, "not_found", "GET", "/api/v1/filters/nobody", "")
	for name, code := range map[string]string{"string": "wrong_type", "sketch": "wrong_type", "nobody": "not_found"} {
		status := map[string]int{"wrong_type": 409, "not_found": 404}[code]
		b.expect(status, code, "GET", "/api/v1/filters/"+name+"/health", "")
		b.expect(status, code, "DELETE", "/api/v1/filters/"+name, "")
		b.expect(status, code, "POST", "/api/v1/filters/"+name+"/has", `{"items": ["a"]}`)
	}
	for _, name := range []string{"users", "old", "cuckoo"} {
		b.expect(200, "", "DELETE", "/api/v1/filters/"+name, "")
		b.expect(404, "not_found", "DELETE", "/api/v1/filters/"+name, "")
	}
	wantNames(t, b.get("/api/v1/filters"), "gone", "like", "sketch")
}

// TestHTTPLayers creates layers over filters, asks them, describes and deletes them.
func TestHTTPLayers(t *testing.T) {
	b, _ := surf(t, server.Config{HTTPAdmin: true})
	for _, body := range []string{
		`{"name": "front", "kind": "bloom", "capacity": 1000, "seed": 1}`, `{"name": {"base64": "/w=="}, "kind": "cuckoo", "capacity": 1000}`,
		`{"name": "both", "kind": "layers", "over": ["front", {"base64": "/w=="}]}`,
	} {
		b.expect(201, "", "POST", "/api/v1/filters", body)
	}
	for _, body := range []string{
		`{"name": "x", "kind": "layers"}`, `{"name": "x", "kind": "layers", "over": []}`, `{"name": "x", "kind": "layers", "over": ["x"]}`,
		`{"name": "x", "kind": "layers", "over": ["a", "a"]}`, `{"name": "x", "kind": "layers", "over": ["a"], "capacity": 5}`,
		`{"name": "x", "kind": "layers", "over": "a"}`, `{"name": "x", "kind": "bloom", "over": ["a"]}`,
	} {
		b.expect(400, "invalid", "POST", "/api/v1/filters", body)
	}
	b.post("/api/v1/filters/front/add", `{"items": ["a", "b"]}`)
	b.post("/api/v1/filters/~_w/add", `{"items": ["a"]}`)
	if got := b.post("/api/v1/filters/both/has", `{"items": ["a", "b", "c"]}`); fmt.Sprint(got["results"]) != "[true false false]" {
		t.Errorf("has = %v", got)
	}
	b.expect(409, "unsupported", "POST", "/api/v1/filters/both/add", `{"items": ["a"]}`)
	v := b.get("/api/v1/filters/both")
	want := "[map[layer:0 name:front ref:front stopped:1] map[layer:1 name:\ufffd name_base64:/w== ref:~_w stopped:1]]"
	if v["kind"] != "layers" || v["verdict"] != nil || fmt.Sprint(v["over"]) != want {
		t.Errorf("both = %v", v)
	}
	wantNames(t, b.get("/api/v1/filters"), "both", "front", "\ufffd")
	b.expect(200, "", "DELETE", "/api/v1/filters/both", "")
	wantNames(t, b.get("/api/v1/filters"), "front", "\ufffd")
}

// TestHTTPCreateRefused asks that what makes no sense is refused with a sentence, and
// that nothing is created.
func TestHTTPCreateRefused(t *testing.T) {
	b, s := surf(t, server.Config{HTTPAdmin: true, MaxMemory: 32 << 20})
	for _, body := range []string{
		``, `{}`, `null`, `[]`, `"x"`, `{"name": "x"}`, `{"kind": "bloom"}`, `{"name": "x", "kind": "nosuch"}`, `{"name": "x", "kind": "bloom", "capacity": 0}`,
		`{"name": "x", "kind": "bloom", "capacity": -1}`, `{"name": "x", "kind": "bloom", "capacity": 1.5}`, `{"name": "x", "kind": "bloom", "capacity": 1e30}`,
		`{"name": "x", "kind": "bloom", "error_rate": 0}`, `{"name": "x", "kind": "bloom", "error_rate": 1}`, `{"name": "x", "kind": "bloom", "error_rate": "NaN"}`,
		`{"name": "x", "kind": "bloom", "nosuch": 1}`, `{"name": 5, "kind": "bloom"}`, `{"name": {"base64": "*"}, "kind": "bloom"}`, `{"name": {"hex": "00"}, "kind": "bloom"}`,
		`{"name": "x", "kind": "bloom"} {"name": "y"}`, `{"name": "x", "kind": "bloom"`, `{"name": "x", "kind": "fuse8"}`, `{"name": "x", "kind": "bloom", "keyed": "nokey"}`,
		`{"name": "x", "kind": "bloom", "like": "nobody"}`, `{"name": "x", "kind": "window", "span": "a day"}`, `{"name": "x", "kind": "bloom", "span": "24h"}`,
	} {
		res := b.do("POST", "/api/v1/filters", body)
		if res.StatusCode != http.StatusBadRequest && res.StatusCode != http.StatusNotFound {
			t.Errorf("create %s = %s", body, res.Status)
		}
	}
	b.expect(507, "out_of_memory", "POST", "/api/v1/filters", `{"name": "x", "kind": "bloom", "capacity": 1000000000}`)
	inside(t, s).expect(":0\r\n", "DBSIZE")
}

// A number that a person types is the same to the FILTER commands, the HTTP API (to which the page
// sends what was typed), the calculator and the command line.
func TestSpellings(t *testing.T) {
	b, s := surf(t, server.Config{HTTPAdmin: true, MaxMemory: 1 << 30})
	c := inside(t, s)
	for _, text := range []string{
		"1000", "1,000", "1_000", "1e3", "1E3", "1k", "1K", "0.5k", "1.001k", "2Ki", "0.01M", " 7k ", "1.0", "+5", "007",
		"", "0", "-1", "-1k", "1.5", "1 k", "1kk", "1MB", "k", "nan", "inf", "1e400", "1e-400", "0x10", "1e", "1,5", "1;5", "99999999999999999999", "2e12", "½", "1000 items",
	} {
		n, err := figures.Count(text)
		fits := err == nil && n > 0 && n <= 1<<40
		if n > 1<<24 {
			continue // it would take memory
		}
		c.do("DEL", "a", "b")
		status, problem := http.StatusCreated, ""
		if !fits {
			status, problem = http.StatusBadRequest, "invalid"
		}
		quoted, _ := json.Marshal(text)
		b.expect(status, problem, "POST", "/api/v1/filters", `{"name": "a", "kind": "bloom", "capacity": `+string(quoted)+`}`)
		if reply := c.do("FILTER.CREATE", "b", "bloom", "CAPACITY", text); fits != (reply == "+OK\r\n") {
			t.Errorf("CAPACITY %q = %q, want success: %t", text, reply, fits)
		}
		if !fits {
			continue
		}
		for _, name := range []string{"a", "b"} {
			if got := b.get("/api/v1/filters/" + name)["capacity"]; got != float64(n) {
				t.Errorf("capacity %q = %v, want %d", text, got, n)
			}
		}
		book, _ := b.get("/api/v1/calc?p=1%25&n=" + url.QueryEscape(text))["textbook"].(map[string]any)
		if book["n"] != float64(n) {
			t.Errorf("the calculator reads %q as %v, want %d", text, book["n"], n)
		}
	}
	for text, want := range map[string]any{`1e3`: 1000.0, `1000`: 1000.0, `"1%"`: nil, `true`: nil, `[1]`: nil, `{}`: nil, `null`: 100000.0} {
		c.do("DEL", "a")
		res := b.do("POST", "/api/v1/filters", `{"name": "a", "kind": "bloom", "capacity": `+text+`, "error_rate": "1in1000"}`)
		if (res.StatusCode == http.StatusCreated) != (want != nil) {
			t.Errorf("capacity %s = %s", text, res.Status)
		} else if want != nil && b.get("/api/v1/filters/a")["capacity"] != want {
			t.Errorf("capacity %s: %v, want %v", text, b.get("/api/v1/filters/a")["capacity"], want)
		}
	}
}

// TestHTTPNames asks that a filter of any name can be created, found and used.
func TestHTTPNames(t *testing.T) {
	b, s := surf(t, server.Config{HTTPAdmin: true})
	c := inside(t, s)
	for _, name := range []string{
		"plain", "a/b", "a//b", "/", ".", "..", "a/../b", "", "~", "~x", "%2F", "a b", "a+b", "a?b#c", "ü", "日本", "\x00", "\xff\xfe", "caf\xe9", "\"quoted\"", "<b>", strings.Repeat("n", 1000), "\ufffd",
	} {
		encoded := base64.StdEncoding.EncodeToString([]byte(name))
		v := b.expect(201, "", "POST", "/api/v1/filters", `{"name": {"base64": "`+encoded+`"}, "kind": "cuckoo", "capacity": 100}`)
		ref := v["ref"].(string)
		c.expect(":1\r\n", "EXISTS", name)
		for _, path := range []string{ref, "~" + base64.RawURLEncoding.EncodeToString([]byte(name))} {
			v := b.get("/api/v1/filters/" + path)
			if raw, ok := v["name_base64"]; ok && raw != encoded || !ok && v["name"] != name {
				t.Errorf("%q at %s is %v, %v", name, path, v["name"], raw)
			}
			b.post("/api/v1/filters/"+path+"/add", `{"items": ["a"]}`)
		}
		c.expect("*1\r\n:2\r\n", "FILTER.COUNT", name, "a")
		b.expect(200, "", "DELETE", "/api/v1/filters/"+ref, "")
		c.expect(":0\r\n", "EXISTS", name)
	}
	b.expect(400, "invalid", "GET", "/api/v1/filters/~not*base64", "")

	b.expect(400, "invalid", "POST", "/api/v1/filters", `{"name": "`+strings.Repeat("n", 1025)+`", "kind": "bloom"}`)
	long := strings.Repeat("n", 5000)
	c.expect("+OK\r\n", "FILTER.CREATE", long, "bloom")
	row := b.get("/api/v1/filters")["filters"].([]any)[0].(map[string]any)
	if row["ref"] != nil || row["name_bytes"] != 5000.0 || len(row["name"].(string)) > 1100 {
		t.Errorf("a long name: ref %v, %v bytes, %d shown", row["ref"], row["name_bytes"], len(row["name"].(string)))
	}
}

// TestHTTPItems adds, asks for, counts and deletes items of filters of every family.
func TestHTTPItems(t *testing.T) {
	b, s := surf(t, server.Config{HTTPAdmin: true})
	c := inside(t, s)
	c.expect("+OK\r\n", "BF.RESERVE", "bf", "0.01", "100")
	c.expect("+OK\r\n", "CF.RESERVE", "cf", "100")
	b.expect(201, "", "POST", "/api/v1/filters", `{"name": "bloom", "kind": "bloom"}`)
	b.expect(201, "", "POST", "/api/v1/filters", `{"name": "cuckoo", "kind": "cuckoo"}`)
	check := func(filter, operation string, want ...any) {
		t.Helper()
		got := b.post("/api/v1/filters/"+filter+"/"+operation, `{"items": ["a", {"base64": "AP8="}]}`)
		if !reflect.DeepEqual(got["results"], want) || got["errors"] != nil {
			t.Errorf("%s %s = %v, want %v", operation, filter, got, want)
		}
	}
	for _, filter := range []string{"bf", "cf", "bloom", "cuckoo"} {
		check(filter, "has", false, false)
		check(filter, "add", true, true)
		check(filter, "has", true, true)
	}
	c.expect("*1\r\n:1\r\n", "FILTER.HAS", "bloom", "\x00\xff")
	for _, filter := range []string{"cf", "cuckoo"} {
		check(filter, "count", 1.0, 1.0)
		check(filter, "del", true, true)
		check(filter, "del", false, false)
		check(filter, "count", 0.0, 0.0)
	}
	check("bloom", "add", false, false)
	for _, operation := range []string{"count", "del"} {
		b.expect(409, "unsupported", "POST", "/api/v1/filters/bf/"+operation, `{"items": ["a"]}`)
		b.expect(400, "invalid", "POST", "/api/v1/filters/bloom/"+operation, `{"items": ["a"]}`)
	}
	for _, body := range []string{``, `{}`, `{"items": []}`, `{"items": "a"}`, `{"items": [1]}`, `{"items": [null]}`, `{"items": [["a"]]}`, `{"items": [{}]}`, `{"keys": ["a"]}`} {
		b.expect(400, "invalid", "POST", "/api/v1/filters/bloom/has", body)
	}
}

// TestHTTPFull asks that items that a filter has no room for are named, and that the
// others are added.
func TestHTTPFull(t *testing.T) {
	b, s := surf(t, server.Config{HTTPAdmin: true})
	c := inside(t, s)
	c.expect("+OK\r\n", "BF.RESERVE", "bf", "0.01", "3", "NONSCALING")
	c.expect("+OK\r\n", "CF.RESERVE", "cf", "4", "EXPANSION", "0")
	b.expect(201, "", "POST", "/api/v1/filters", `{"name": "cuckoo", "kind": "cuckoo", "capacity": 8}`)
	var items []string
	for i := range 100 {
		items = append(items, fmt.Sprintf("%q", fmt.Sprint("item", i)))
	}
	body := `{"items": [` + strings.Join(items, ",") + `]}`
	for _, filter := range []string{"bf", "cf", "cuckoo"} {
		v := b.post("/api/v1/filters/"+filter+"/add", body)
		results, errors := v["results"].([]any), v["errors"].([]any)
		if len(results) != 100 || len(errors) == 0 || len(errors) == 100 {
			t.Fatalf("%s: %d results, %d errors", filter, len(results), len(errors))
		}
		for _, e := range errors {
			e := e.(map[string]any)
			if e["code"] != "full" || results[int(e["index"].(float64))] != nil {
				t.Errorf("%s: error %v", filter, e)
			}
		}
		if nulls := len(slices.DeleteFunc(slices.Clone(results), func(v any) bool { return v != nil })); nulls != len(errors) {
			t.Errorf("%s: %d results are null, %d errors", filter, nulls, len(errors))
		}
	}
	b.expect(409, "full", "POST", "/api/v1/filters/bf/add", `{"items": ["one more"]}`)
}

// TestHTTPCures grows, folds, clears, compacts and rebuilds filters.
func TestHTTPCures(t *testing.T) {
	b, s := surf(t, server.Config{HTTPAdmin: true})
	create := func(body string) { b.expect(201, "", "POST", "/api/v1/filters", body) }
	create(`{"name": "grown", "kind": "bloom", "capacity": 1000}`)
	b.post("/api/v1/filters/grown/grow", `{"error_rate": 0.05}`)
	if v := b.get("/api/v1/filters/grown"); v["kind"] != "scalable" || v["asked"] != 0.05 || len(v["layers"].([]any)) != 1 {
		t.Errorf("grown = %v", v)
	}
	b.expect(400, "invalid", "POST", "/api/v1/filters/grown/grow", "")
	create(`{"name": "folded", "kind": "bloom", "capacity": 1000000}`)
	b.post("/api/v1/filters/folded/fold", "")
	b.post("/api/v1/filters/folded/add", `{"items": ["a"]}`)
	b.post("/api/v1/filters/folded/clear", "{}")
	if v := b.post("/api/v1/filters/folded/has", `{"items": ["a"]}`); !reflect.DeepEqual(v["results"], []any{false}) {
		t.Errorf("cleared: %v", v)
	}
	b.post("/api/v1/filters/grown/rebuild", `{"step": "begin", "kind": "cuckoo", "capacity": 500}`)
	b.post("/api/v1/filters/grown/add", `{"items": ["added"]}`)
	if v := b.post("/api/v1/filters/grown/rebuild", `{"step": "feed", "items": ["alice", "bob"]}`); v["fed"] != 2.0 {
		t.Errorf("fed %v", v)
	}
	if v := b.post("/api/v1/filters/grown/rebuild", `{"step": "status"}`); v["status"].(map[string]any)["fed"] != 2.0 {
		t.Errorf("status %v", v)
	}
	if v := b.post("/api/v1/filters/grown/rebuild", `{"step": "feed", "items": ["carol"]}`); v["fed"] != 1.0 {
		t.Errorf("fed %v after one more", v)
	}
	b.post("/api/v1/filters/grown/rebuild", `{"step": "commit"}`)
	if v := b.post("/api/v1/filters/grown/count", `{"items": ["added", "alice", "carol", "eve"]}`); !reflect.DeepEqual(v["results"], []any{1.0, 1.0, 1.0, 0.0}) {
		t.Errorf("rebuilt: %v", v)
	}
	b.expect(400, "invalid", "POST", "/api/v1/filters/grown/rebuild", `{"step": "abort"}`)
	b.expect(400, "invalid", "POST", "/api/v1/filters/grown/rebuild", `{"step": "feed"}`)
	b.expect(400, "invalid", "POST", "/api/v1/filters/grown/rebuild", `{"step": "hop"}`)
	c := inside(t, s)
	c.expect("+OK\r\n", "CF.RESERVE", "cf", "100")
	b.post("/api/v1/filters/cf/compact", "{}")
	b.expect(404, "not_found", "POST", "/api/v1/filters/nobody/compact", "{}")
	b.expect(404, "not_found", "POST", "/api/v1/filters/nobody/fold", "{}")
	b.expect(400, "invalid", "POST", "/api/v1/filters/folded/fold", `{"twice": true}`)
}

// TestHTTPList searches, sorts and pages.
func TestHTTPList(t *testing.T) {
	b, s := surf(t, server.Config{HTTPAdmin: true})
	c := inside(t, s)
	for i, name := range []string{"User:b", "user:a", "order", "a*b"} {
		c.expect("+OK\r\n", "FILTER.CREATE", name, "bloom", "CAPACITY", fmt.Sprint(100*(i+1)))
	}
	c.expect("+OK\r\n", "FILTER.CREATE", "zz", "cuckoo", "CAPACITY", "50")
	for i := range 51 {
		c.expect("*1\r\n:1\r\n", "FILTER.ADD", "zz", fmt.Sprint(i))
	}
	list := func(query string) map[string]any { t.Helper(); return b.get("/api/v1/filters?" + query) }
	wantNames(t, list(""), "User:b", "a*b", "order", "user:a", "zz")
	wantNames(t, list("order=desc"), "zz", "user:a", "order", "a*b", "User:b")
	wantNames(t, list("search=USER"), "User:b", "user:a")
	wantNames(t, list("search="+url.QueryEscape("*")), "a*b")
	wantNames(t, list("search="+url.QueryEscape("[")))
	wantNames(t, list("match="+url.QueryEscape("user:*")), "user:a")
	wantNames(t, list("sort=capacity&match="+url.QueryEscape("[^z]*")), "User:b", "user:a", "order", "a*b")
	wantNames(t, list("sort=fill&order=desc&limit=1"), "zz")
	wantNames(t, list("sort=verdict&limit=1"), "zz")
	wantNames(t, list("sort=kind&order=desc&limit=1"), "zz")
	for field := range strings.FieldsSeq("name kind items capacity fill saturation asked predicted probed traffic bytes layers created verdict") {
		if got := filterNames(list("sort=" + field)); len(got) != 5 {
			t.Errorf("sort=%s gives %q", field, got)
		}
	}
	v := list("offset=1&limit=2")
	wantNames(t, v, "a*b", "order")
	if v["total"] != 5.0 || v["offset"] != 1.0 || v["limit"] != 2.0 {
		t.Errorf("page = %v", v)
	}
	wantNames(t, list("offset=99"))
	wantNames(t, list("limit=0"))
	for _, bad := range []string{"sort=nosuch", "order=up", "limit=201", "limit=-1", "offset=-1", "offset=x", "offset=99999999999999999999", "search=a&match=b", "search=" + strings.Repeat("x", 2000)} {
		b.expect(400, "invalid", "GET", "/api/v1/filters?"+bad, "")
	}
	h := b.get("/api/v1/health?limit=1")
	wantNames(t, h, "zz")
	row := h["filters"].([]any)[0].(map[string]any)
	if row["verdict"] != "Resize" || !strings.Contains(row["command"].(string), "FILTER.REBUILD zz BEGIN") {
		t.Errorf("health = %v", row)
	}
}

// TestHTTPManyFilters asks for pages of many filters.
func TestHTTPManyFilters(t *testing.T) {
	b, s := surf(t, server.Config{})
	c := inside(t, s)
	const many = 2000
	var requests []byte
	for i := range many {
		requests = append(requests, request("FILTER.CREATE", fmt.Sprintf("filter:%05d", i), "bloom", "CAPACITY", fmt.Sprint(100+i%900))...)
	}
	go func() { _, _ = c.nc.Write(requests) }()
	for range many {
		if got := c.reply(); got != "+OK\r\n" {
			t.Fatal(got)
		}
	}
	for _, query := range []string{"limit=200", "limit=200&sort=fill&order=desc", "limit=200&sort=verdict", fmt.Sprintf("offset=%d&limit=200&sort=created", many-100), "sort=kind"} {
		if total := b.get("/api/v1/filters?" + query)["total"].(float64); total != many {
			t.Errorf("%s: total %v", query, total)
		}
	}
	if total := b.get("/api/v1/filters?search=999&sort=bytes")["total"].(float64); total != 2 {
		t.Errorf("%v filters have 999 in their names", total)
	}
	if got := filterNames(b.get(fmt.Sprintf("/api/v1/filters?offset=%d&limit=200", many-100))); len(got) != 100 || got[99] != fmt.Sprintf("filter:%05d", many-1) {
		t.Errorf("the last page has %d filters, %q last", len(got), got[len(got)-1])
	}
}

// TestHTTPInfo asks that the overview shows what has happened.
// TestPageIsNoTraffic asks that what the page reads of the server counts nowhere: a server
// without clients runs no commands.
func TestPageIsNoTraffic(t *testing.T) {
	b, s := surf(t, server.Config{})
	c := inside(t, s)
	c.expect("+OK\r\n", "FILTER.CREATE", "f", "bloom")
	c.expect("+OK\r\n", "CONFIG", "RESETSTAT")
	for _, path := range []string{"/", "/filters", "/filters?name=f"} {
		if res := b.do("GET", path, ""); res.StatusCode != http.StatusOK {
			t.Errorf("GET %s = %s", path, res.Status)
		}
	}
	if res := b.do("HEAD", "/api/v1/events", ""); res.StatusCode != http.StatusOK {
		t.Errorf("events = %s", res.Status)
	}
	stats := c.do("INFO", "commandstats")
	for _, name := range []string{"filter.list", "filter.info", "info"} {
		if strings.Contains(stats, "cmdstat_"+name+":") {
			t.Errorf("the page's %s counts: %s", name, stats)
		}
	}
	b.get("/api/v1/filters")
	if stats := c.do("INFO", "commandstats"); !strings.Contains(stats, "cmdstat_filter.list:calls=1,") {
		t.Errorf("a client's FILTER.LIST does not count: %s", stats)
	}
}

func TestHTTPInfo(t *testing.T) {
	b, s := surf(t, server.Config{Dir: t.TempDir(), Version: "v1.2.3", MaxMemory: 64 << 20})
	c := inside(t, s)
	for range 10 {
		c.do("BF.ADD", "bf", "a")
	}
	c.do("NOSUCH")
	c.do("INCR", "bf")
	v := b.get("/api/v1/info")
	if v["version"] != "v1.2.3" || v["keys"] != 1.0 || v["memory"].(map[string]any)["limit"] != float64(64<<20) || v["clients"].(map[string]any)["connected"] != 1.0 {
		t.Errorf("info = %v", v)
	}
	if p, ok := v["persistence"].(map[string]any); !ok || p["fsync"] != "everysec" || p["writable"] != true {
		t.Errorf("persistence = %v", v["persistence"])
	}
	for _, row := range v["commands"].([]any) {
		row := row.(map[string]any)
		if row["name"] != "bf.add" {
			continue
		}
		p50, p99, p999 := row["p50_us"].(float64), row["p99_us"].(float64), row["p999_us"].(float64)
		if row["calls"] != 10.0 || p50 <= 0 || p99 < p50 || p999 < p99 {
			t.Errorf("bf.add = %v", row)
		}
		return
	}
	t.Errorf("bf.add is not among the commands: %v", v["commands"])
}

// TestHTTPPlan asks for kinds and plans.
func TestHTTPPlan(t *testing.T) {
	b, _ := surf(t, server.Config{})
	if kinds := b.get("/api/v1/kinds")["kinds"].([]any); len(kinds) < 10 {
		t.Errorf("%d kinds", len(kinds))
	}
	v := b.get("/api/v1/plan?keys=1000000&error_rate=0.01&needs=deletes")
	if v["take"] != "cuckoo" && v["take"] != "quotient" && v["take"] != "counting" {
		t.Errorf("plan takes %v", v["take"])
	}
	want := b.get("/api/v1/plan?keys=1000&error_rate=0.01&needs=deletes,counts")
	for _, needs := range []string{"deletes+counts", "counts,+deletes,"} {
		if got := b.get("/api/v1/plan?keys=1000&error_rate=0.01&needs=" + needs); !reflect.DeepEqual(got, want) {
			t.Errorf("needs=%s: %v, want %v", needs, got, want)
		}
	}
	for _, bad := range []string{"", "keys=1", "keys=0&error_rate=0.1", "keys=1&error_rate=2", "keys=x&error_rate=0.1", "keys=1&error_rate=NaN", "keys=1&error_rate=0.1&needs=magic"} {
		b.expect(400, "invalid", "GET", "/api/v1/plan?"+bad, "")
	}
}

// TestHTTPPage asks for a file of the page and its cache.
func TestHTTPPage(t *testing.T) {
	b, _ := surf(t, server.Config{})
	res := b.do("GET", "/style.css", "")
	if res.StatusCode != http.StatusOK || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/css") {
		t.Fatalf("style.css = %s, %v", res.Status, res.Header)
	}
	tag := res.Header.Get("ETag")
	if again := b.with("If-None-Match", tag).do("GET", "/style.css", ""); again.StatusCode != http.StatusNotModified {
		t.Errorf("the same again = %s", again.Status)
	}
	if zipped := b.with("Accept-Encoding", "br, gzip").do("GET", "/style.css", ""); zipped.Header.Get("Content-Encoding") != "gzip" || zipped.Header.Get("ETag") == tag {
		t.Errorf("compressed: %v", zipped.Header)
	}
	if plain := b.with("Accept-Encoding", "gzip;q=0").do("GET", "/style.css", ""); plain.Header.Get("Content-Encoding") != "" {
		t.Errorf("not to be compressed: %v", plain.Header)
	}
	for _, path := range []string{"/page/style.css", "/tabs/frame.html", "/../web.go", "/%2e%2e/web.go", "/page.go"} {
		if res := b.do("GET", path, ""); res.StatusCode == http.StatusOK {
			t.Errorf("GET %s = %s", path, res.Status)
		}
	}
}
