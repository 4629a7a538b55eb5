//go:build js && wasm

// Command browser answers the questions of the page inside a browser: it is compiled to
// WebAssembly for the page as static files.
package main

import (
	"encoding/json"
	"errors"
	"net/url"
	"syscall/js"

	"github.com/bloomery/bloomery/page"
)

// reply is what a script gets: the answer, or why there is none.
type reply struct {
	Body   any               `json:"body,omitempty"`
	Error  string            `json:"error,omitempty"`
	Fields map[string]string `json:"fields,omitempty"`
}

func main() {
	questions := map[string]page.Question{}
	for _, q := range page.Questions() {
		questions[q.Path] = q
	}
	js.Global().Set("bloomeryAnswer", js.FuncOf(func(_ js.Value, args []js.Value) any {
		return answer(questions, args[0].String(), args[1].String())
	}))
	js.Global().Get("bloomeryReady").Invoke()
	select {} // the function is called from now on
}

// answer returns the reply to a question as JSON.
func answer(questions map[string]page.Question, path, query string) string {
	values, err := url.ParseQuery(query)
	var r reply
	if q, ok := questions[path]; err == nil && ok {
		r.Body, err = q.Answer(values)
	} else if err == nil {
		err = errors.New("there is no such question")
	}
	if err != nil {
		r = reply{Error: err.Error()}
		if faults, ok := errors.AsType[page.QueryError](err); ok {
			r.Fields = faults
		}
	}
	data, err := json.Marshal(r)
	if err != nil {
		return `{"error":"the answer cannot be written"}`
	}
	return string(data)
}
