package web

// Bodies of requests, within limits.

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
)

const (
	// mostBody is the largest body of a request, firstBody how much memory it
	// gets before any of it has arrived.
	mostBody  = 4 << 20
	firstBody = 8 << 10
	// mostItems is how many items one request may have.
	mostItems = 100_000
	// mostDepth is how deep JSON may be nested. Ours is three deep.
	mostDepth = 16
)

var errTooLarge = problem{http.StatusRequestEntityTooLarge, "too_large", "the body is larger than 4 MiB; send it in several requests"}

// body reads the body of the request. Its memory follows the bytes that have arrived
// and counts in the budget before it is allocated, until the call is closed.
func (c *call) body() ([]byte, error) {
	if c.r.ContentLength > mostBody {
		return nil, errTooLarge
	}
	r := http.MaxBytesReader(c.w, c.r.Body, mostBody)
	size := firstBody
	if n := c.r.ContentLength; n >= 0 && n < firstBody {
		size = int(n) + 1
	}
	b := make([]byte, 0, size)
	for {
		if len(b) == cap(b) {
			more := 2 * cap(b)
			if !c.hold(more) {
				return nil, problemOf("OOM there is no memory for the body of the request")
			}
			b = append(make([]byte, 0, more), b...)
		}
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if err == nil {
			continue
		}
		if errors.Is(err, io.EOF) {
			return b, nil
		}
		if _, over := errors.AsType[*http.MaxBytesError](err); over {
			return nil, errTooLarge
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return nil, problem{http.StatusRequestTimeout, "too_slow", "the body took too long to arrive"}
		}
		return nil, invalid("the body ends early")
	}
}

// hold counts n more bytes in the budget until the call is closed.
func (c *call) hold(n int) bool {
	if !c.h.Engine.Hold(c.session, n) {
		c.h.Engine.Hold(c.session, -n)
		return false
	}
	c.held += n
	return true
}

// read reads the body as a JSON object into v. A field that v does not have is an
// error: it is a typing mistake. No body is an empty object.
func (c *call) read(v any) error {
	if err := c.checkType(); err != nil {
		return err
	}
	data, err := c.body()
	if err != nil {
		return err
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil
	}
	values, err := checkShape(data)
	if err != nil {
		return err
	}
	// What is decoded takes a slice, an argument and a result for every value, and
	// the text again.
	const valueBytes = 128
	if !c.hold(2*len(data) + valueBytes*values) {
		return problemOf("OOM there is no memory for the body of the request")
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return jsonProblem(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return invalid("there is something behind the JSON object")
	}
	return nil
}

// checkShape refuses what would take much memory to decode: deep nesting and very
// many values. It looks at brackets and commas outside of strings, and returns how many
// values there are at most.
func checkShape(data []byte) (values int, err error) {
	depth := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			for i++; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			if depth++; depth > mostDepth {
				return 0, invalid("the JSON is nested more than %d deep", mostDepth)
			}
		case '}', ']':
			depth--
		case ',':
			values++
		}
	}
	if values > mostItems+100 {
		return 0, invalid("a request takes at most %d items", mostItems)
	}
	return values + 1, nil
}

// jsonProblem puts an error of package json into words.
func jsonProblem(err error) error {
	if p, ok := errors.AsType[problem](err); ok {
		return p
	}
	if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && t.Field != "" {
		return invalid("%s: want %s, got %s", t.Field, wanted(t), t.Value)
	}
	return invalid("the body is not the JSON that is wanted here: %v", err)
}

func wanted(t *json.UnmarshalTypeError) string {
	switch t.Type.String() {
	case "string":
		return "a string"
	case "bool":
		return "true or false"
	}
	return "something else"
}

// bytesOf is a name or an item in JSON: a string, or {"base64": "…"} for bytes that
// no string can have.
type bytesOf []byte

// UnmarshalJSON implements json.Unmarshaler.
func (b *bytesOf) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		var s string
		if err := json.Unmarshal(data, &s); err != nil {
			return err
		}
		*b = []byte(s)
		return nil
	}
	var v struct {
		Base64 *string `json:"base64"`
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil || v.Base64 == nil {
		return invalid(`a name or an item is a string, or {"base64": "…"}`)
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(*v.Base64)
	if err != nil {
		return invalid("base64: not valid base64")
	}
	*b = raw
	return nil
}

// typed is a number as it was written, which the command reads: a JSON number, or a string
// as a person types it, such as "1M" or "1%". It is "" if it is not given.
type typed string

// UnmarshalJSON implements json.Unmarshaler.
func (t *typed) UnmarshalJSON(data []byte) error {
	switch {
	case string(data) == "null":
		return nil
	case data[0] == '"':
		if err := json.Unmarshal(data, (*string)(t)); err != nil {
			return err
		}
		if *t == "" {
			return invalid(`a number is 1000, "1M" or "1%%", not ""`)
		}
		return nil
	case data[0] == '-' || data[0] >= '0' && data[0] <= '9':
		*t = typed(data)
		return nil
	}
	return invalid(`a number is 1000, "1M" or "1%%", not %.40s`, data)
}

// after appends a word and the number to the arguments of a command, if it is given.
func (t typed) after(word string, args []string) []string {
	if t == "" {
		return args
	}
	return append(args, word, string(t))
}
