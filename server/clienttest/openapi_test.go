package clienttest

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/bloomery/bloomery/server"
)

// api is the API of a server and the document that describes it.
type api struct {
	handler  http.Handler
	document map[string]any
	compiler *jsonschema.Compiler
	sent     map[string]bool // operations that were answered with success
}

// documentURL is what references in the document are relative to.
const documentURL = "http://localhost/api/v1/openapi.yaml"

// TestOpenAPI sends what openapi.yaml describes and validates what comes back.
func TestOpenAPI(t *testing.T) {
	a := openAPI(t)
	paths := a.document["paths"].(map[string]any)
	// Every operation meets filters that are as its examples expect them, so
	// each gets a server of its own.
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		item := paths[path].(map[string]any)
		for _, method := range []string{"get", "post", "delete"} {
			if operation, ok := item[method].(map[string]any); ok {
				t.Run(method+path, func(t *testing.T) { a.try(t, method, path, operation, item["parameters"]) })
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if strings.HasPrefix(path, "/debug/") {
			continue // off unless asked for; the server's own tests record profiles
		}
		for _, method := range []string{"get", "post", "delete"} {
			if _, ok := paths[path].(map[string]any)[method]; ok && !a.sent[method+path] {
				t.Errorf("%s %s was never answered with success", method, path)
			}
		}
	}
}

// TestOpenAPIOfLessons holds the scenes of all lessons and kinds to the document.
func TestOpenAPIOfLessons(t *testing.T) {
	a := openAPI(t)
	operation := a.document["paths"].(map[string]any)["/api/v1/teach"].(map[string]any)["get"].(map[string]any)
	_, _, body := a.send(t, "GET", "/api/v1/teach/lessons", "", "")
	var list struct {
		Lessons []struct{ ID string }
		Kinds   []struct{ Name string }
	}
	if err := json.Unmarshal(body, &list); err != nil || len(list.Lessons) == 0 || len(list.Kinds) == 0 {
		t.Fatalf("%v: %s", err, body)
	}
	for _, l := range list.Lessons {
		a.check(t, "get", "/api/v1/teach", "/api/v1/teach?lesson="+l.ID, "", operation)
	}
	for _, k := range list.Kinds {
		a.check(t, "get", "/api/v1/teach", "/api/v1/teach?do=fill:20&do=ask:key+1&kind="+k.Name, "", operation)
	}
}

// openAPI reads the document of a server.
func openAPI(t *testing.T) *api {
	t.Helper()
	a := &api{handler: open(t, server.Config{}).Handler(), sent: map[string]bool{}}
	status, _, body := a.send(t, "GET", "/api/v1/openapi.yaml", "", "")
	if status != 200 {
		t.Fatalf("openapi.yaml = %d", status)
	}
	if err := yaml.Unmarshal(body, &a.document); err != nil {
		t.Fatal(err)
	}
	if a.document["openapi"] != "3.1.0" {
		t.Errorf("openapi = %v", a.document["openapi"])
	}
	// The schemas of OpenAPI 3.1 are those of JSON Schema 2020-12.
	data, err := json.Marshal(a.document)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	a.compiler = jsonschema.NewCompiler()
	a.compiler.DefaultDraft(jsonschema.Draft2020)
	a.compiler.AssertFormat()
	if err := a.compiler.AddResource(documentURL, plain); err != nil {
		t.Fatal(err)
	}
	return a
}

// open returns a server that is reached within the process.
func open(t *testing.T, c server.Config) *server.Server {
	t.Helper()
	c.Addr, c.HTTPAdmin = []string{"127.0.0.1:0"}, true
	s, err := server.New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// send sends a request and returns status, type and body of the response.
func (a *api) send(t *testing.T, method, path, kind, body string) (int, string, []byte) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	r.Host, r.RemoteAddr = "localhost", "127.0.0.1:1"
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	w := httptest.NewRecorder()
	a.handler.ServeHTTP(w, r)
	data, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	got, _, _ := strings.Cut(w.Header().Get("Content-Type"), ";")
	return w.Code, got, data
}

// prepare makes the filters that operations are tried on.
func (a *api) prepare(t *testing.T, path string) {
	t.Helper()
	s := open(t, server.Config{Dir: t.TempDir()})
	a.handler = s.Handler()
	a.run(t, s, "TOPK.RESERVE sketch 3", "BF.RESERVE old 0.01 100", "CF.RESERVE older 100")
	if strings.HasSuffix(path, "/compact") { // for a CF, which HTTP does not create
		a.run(t, s, "CF.RESERVE users 100")
		return
	}
	kind := "bloom"
	for _, countable := range []string{"/count", "/del"} {
		if strings.HasSuffix(path, countable) {
			kind = "counting"
		}
	}
	body := fmt.Sprintf(`{"name": "users", "kind": %q, "capacity": 100000}`, kind)
	if status, _, data := a.send(t, "POST", "/api/v1/filters", "application/json", body); status != 201 {
		t.Fatalf("create = %d %s", status, data)
	}
	a.send(t, "POST", "/api/v1/filters/users/add", "application/json", `{"items": ["alice"]}`)
}

// run runs commands over the Redis protocol; they must answer OK.
func (a *api) run(t *testing.T, s *server.Server, commands ...string) {
	t.Helper()
	nc, err := s.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = nc.Close() }()
	replies := bufio.NewReader(nc)
	for _, c := range commands {
		fmt.Fprint(nc, c+"\r\n")
		if reply, err := replies.ReadString('\n'); err != nil || reply != "+OK\r\n" {
			t.Fatalf("%s = %q, %v", c, reply, err)
		}
	}
}

// try sends an operation: with every example of its body, with and without its
// optional parameters, and with what it must refuse.
func (a *api) try(t *testing.T, method, path string, operation map[string]any, shared any) {
	a.prepare(t, path)
	all, required := url.Values{}, url.Values{}
	target := path
	for _, list := range []any{shared, operation["parameters"]} {
		parameters, _ := list.([]any)
		for _, p := range parameters {
			p := a.resolve(p)
			name, example := p["name"].(string), fmt.Sprint(p["example"])
			switch {
			case p["in"] == "path":
				target = strings.ReplaceAll(target, "{"+name+"}", example)
			case p["example"] != nil:
				all.Set(name, example)
				if p["required"] == true {
					required.Set(name, example)
				}
			}
		}
	}
	bodies := a.bodies(operation)
	for _, query := range []string{all.Encode(), required.Encode()} {
		for _, body := range bodies {
			a.check(t, method, path, target+"?"+query, body, operation)
		}
	}
	if strings.Contains(path, "{name}") {
		a.check(t, method, "", strings.ReplaceAll(path, "{name}", "nobody"), bodies[len(bodies)-1], operation)
	}
	if method == "post" {
		a.check(t, method, "", target, `{"no such field": 1}`, operation)
	}
}

// steps are the examples of a rebuild, whose order matters.
var steps = []string{"begin", "feed", "status", "commit"}

// bodies returns the examples of the body of an operation, "" if it has none.
func (a *api) bodies(operation map[string]any) (bodies []string) {
	content, _ := a.resolve(operation["requestBody"])["content"].(map[string]any)
	body, _ := content["application/json"].(map[string]any)
	examples, _ := body["examples"].(map[string]any)
	names := slices.SortedFunc(maps.Keys(examples), func(x, y string) int {
		return cmp.Or(cmp.Compare(slices.Index(steps, x), slices.Index(steps, y)), cmp.Compare(x, y))
	})
	for _, name := range names {
		bodies = append(bodies, encoded(examples[name].(map[string]any)["value"]))
	}
	if len(bodies) == 0 {
		return []string{""}
	}
	return bodies
}

func encoded(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // it came from YAML
	}
	return string(data)
}

// check sends a request and holds the response to the document. of, if it is not "",
// is noted as answered if it is answered with success.
func (a *api) check(t *testing.T, method, of, target, body string, operation map[string]any) {
	t.Helper()
	if strings.HasPrefix(target, "/api/v1/events") {
		a.checkEvents(t, target)
		a.sent[method+of] = true
		return
	}
	kind := ""
	if method == "post" {
		kind = "application/json"
	}
	status, got, data := a.send(t, strings.ToUpper(method), target, kind, body)
	response, key := a.response(operation, status)
	if response == nil {
		t.Errorf("%s %s = %d, which the document does not describe: %s", method, target, status, data)
		return
	}
	content, _ := response["content"].(map[string]any)
	if _, ok := content[got]; !ok {
		t.Errorf("%s %s = %d %q, want one of %v", method, target, status, got, slices.Collect(maps.Keys(content)))
		return
	}
	if of != "" && status < 300 {
		a.sent[method+of] = true
	}
	if of == "" && status < 400 {
		t.Errorf("%s %s %s = %d, want an error", method, target, body, status)
	}
	if got != "application/json" {
		return
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatalf("%s %s: %v: %s", method, target, err, data)
	}
	schema := a.schema(t, content[got].(map[string]any)["schema"])
	if err := schema.Validate(value); err != nil {
		t.Errorf("%s %s = %d (%s): %v\n%s", method, target, status, key, err, data)
	}
}

// response returns what the document says of a status.
func (a *api) response(operation map[string]any, status int) (map[string]any, string) {
	responses := operation["responses"].(map[string]any)
	for _, key := range []string{fmt.Sprint(status), "default"} {
		if r, ok := responses[key]; ok {
			return a.resolve(r), key
		}
	}
	return nil, ""
}

// resolve follows a reference.
func (a *api) resolve(v any) map[string]any {
	m, _ := v.(map[string]any)
	ref, ok := m["$ref"].(string)
	if !ok {
		return m
	}
	at := any(a.document)
	for _, step := range strings.Split(strings.TrimPrefix(ref, "#/"), "/") {
		at = at.(map[string]any)[step]
	}
	return a.resolve(at)
}

// schema compiles a schema of the document. References in it lead into the document.
func (a *api) schema(t *testing.T, v any) *jsonschema.Schema {
	t.Helper()
	data := strings.ReplaceAll(encoded(v), `"#/`, `"`+documentURL+`#/`)
	plain, err := jsonschema.UnmarshalJSON(strings.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("http://localhost/schema/%x", data)
	_ = a.compiler.AddResource(name, plain) // it may be there already
	schema, err := a.compiler.Compile(name)
	if err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return schema
}

// checkEvents reads the first events of a stream and validates them.
func (a *api) checkEvents(t *testing.T, target string) {
	t.Helper()
	s := httptest.NewServer(a.handler)
	defer s.Close()
	client := &http.Client{Timeout: 30 * time.Second}
	res, err := client.Get(s.URL + target)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%s = %s, %v", target, res.Status, res.Header)
	}
	buffer := make([]byte, 256<<10)
	n := 0
	for bytes.Count(buffer[:n], []byte("\n\n")) < 2 && n < len(buffer) {
		more, err := res.Body.Read(buffer[n:])
		if n += more; err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []struct{ name, schema string }{{"overview", "Overview"}, {"filters", "Listed"}} {
		text := strings.Split(string(buffer[:n]), "\n\n")[i]
		data, ok := strings.CutPrefix(text, "event: "+want.name+"\ndata: ")
		if !ok {
			t.Fatalf("event %d = %q", i, text)
		}
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		values := []any{value}
		if want.name == "filters" {
			values = value.(map[string]any)["filters"].([]any)
		}
		for _, v := range values {
			if err := a.schema(t, map[string]any{"$ref": "#/components/schemas/" + want.schema}).Validate(v); err != nil {
				t.Errorf("event %s: %v\n%s", want.name, err, data)
			}
		}
	}
}
