package web

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestShape counts values and nesting of JSON outside of strings, up to what is
// refused.
func TestShape(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, c := range []struct {
		text   string
		values int
		ok     bool
	}{
		{`{}`, 1, true},
		{`{"a": 1, "b": [2, 3]}`, 3, true},
		{`{"a": ",,,[[[[[[[[[[[[[[[[[[[[", "b": "\",,\\", "c": 1}`, 3, true},
		{`"never ends, `, 1, true},
		{`"ends with \`, 1, true},
		{deep(mostDepth), 1, true},
		{deep(mostDepth + 1), 0, false},
		{strings.Repeat(deep(mostDepth)+",", 2), 3, true},
		{strings.Repeat(",", mostItems+100), mostItems + 101, true},
		{strings.Repeat(",", mostItems+101), 0, false},
	} {
		values, err := checkShape([]byte(c.text))
		if values != c.values || (err == nil) != c.ok {
			t.Errorf("%.40s: %d values, %v; want %d", c.text, values, err, c.values)
		}
	}
}

// TestBytesOf reads names and items: strings, and bytes in base64.
func TestBytesOf(t *testing.T) {
	for text, want := range map[string]string{`"a\u0000é"`: "a\x00é", `""`: "", `{"base64": "AP8="}`: "\x00\xff", `{"base64": ""}`: ""} {
		var got bytesOf
		if err := json.Unmarshal([]byte(text), &got); err != nil || string(got) != want {
			t.Errorf("%s = %q, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		`1`: "is a string", `{}`: "is a string", `{"base64": null}`: "is a string", `{"base64": "AP8=", "x": 1}`: "is a string",
		`{"base64": "AP8"}`: "not valid", `{"base64": "AP9="}`: "not valid", // the last has bits behind its end
	} {
		var got bytesOf
		if err := json.Unmarshal([]byte(text), &got); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s = %q, %v", text, got, err)
		}
	}
}
