package web

// Names of filters in paths.

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// A name is any bytes. In a path it is one segment, percent-encoded. A segment that
// begins with ~ is the name in base64url without padding: for names that a path
// cannot have ("", ".", "..", "/"), that proxies mangle, and that begin with ~ themselves.
//
// In JSON a name is a string. One that is not valid UTF-8 has U+FFFD in the place of
// what is not, and its bytes stand beside it in base64.

// encodedMark begins a segment that is base64url.
const encodedMark = "~"

// longName is up to how many bytes of a name a response shows.
const longName = 1024

// readRef returns the name that a segment of a path stands for. The segment is
// percent-decoded.
func readRef(segment string) (string, error) {
	text, encoded := strings.CutPrefix(segment, encodedMark)
	if !encoded {
		return segment, nil
	}
	name, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return "", invalid("a name that begins with ~ is base64url without padding, and this one is not")
	}
	return string(name), nil
}

// refOf returns the segment of a path for a name, percent-encoded.
func refOf(name string) string {
	if slices.Contains([]string{"", ".", "..", "/"}, name) || strings.HasPrefix(name, encodedMark) || !utf8.ValidString(name) {
		return encodedMark + base64.RawURLEncoding.EncodeToString([]byte(name))
	}
	return url.PathEscape(name)
}

// putName puts a name into an object, with what it takes to ask for it. Of a very
// long name only the beginning is shown, and a path would be too long for it.
func putName(o object, name string) {
	if len(name) > longName {
		o["name"] = strings.ToValidUTF8(name[:longName], "\uFFFD") + "…"
		o["name_bytes"] = len(name)
		o["ref"] = nil
		return
	}
	o["name"] = strings.ToValidUTF8(name, "\uFFFD")
	o["ref"] = refOf(name)
	if !utf8.ValidString(name) {
		o["name_base64"] = base64.StdEncoding.EncodeToString([]byte(name))
	}
}

// filterName returns the name of the filter that a request is about.
func (c *call) filterName() (string, error) { return readRef(c.r.PathValue("name")) }
