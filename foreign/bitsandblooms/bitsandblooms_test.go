package bitsandblooms_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/foreign"
	"github.com/bloomery/bloomery/foreign/bitsandblooms"
	"github.com/bloomery/bloomery/foreign/internal/formattest"
)

func format() formattest.Format { return formattest.Bloom(bitsandblooms.New, bitsandblooms.Open) }

// asJSON is the JSON form.
func asJSON() formattest.Format {
	f := format()
	f.Marshal = func(f bloomery.Filter) ([]byte, error) { return bitsandblooms.JSON(f.(*foreign.Bloom)) }
	f.Sizes = nil
	return f
}

func TestFormat(t *testing.T) {
	t.Run("binary", func(t *testing.T) { formattest.Run(t, format()) })
	t.Run("json", func(t *testing.T) { formattest.Run(t, asJSON()) })
}

func FuzzOpen(f *testing.F) { formattest.Fuzz(f, format()) }

func FuzzJSON(f *testing.F) {
	formattest.Fuzz(f, asJSON(), []byte(`{"m":1,"k":1,"b":"AAAAAAAAAAEAAAAAAAAAAQ=="}`), []byte(` {"b":7}`), []byte(`{}`))
}

// TestHostileJSON has valid JSON that takes many times its length to decode.
func TestHostileJSON(t *testing.T) {
	const many = 100_000
	digits := strings.Repeat("1", many)
	for name, text := range map[string]string{
		"a long number":       `{"m":` + digits + `,"k":1,"b":"AAAA"}`,
		"a long name":         `{"` + digits + `":1}`,
		"a long escaped name": `{"` + strings.Repeat(`\u0061`, many) + `":1}`,
		"a long wide name":    `{"` + strings.Repeat("\u212a", many) + `":1}`,
		"a name with a set":   `{"b":"AAAA","` + digits + `":1}`,
		"a set in a number":   `{"b":"AAAA","m":` + digits + `,"b":"AAAA"}`,
		"many wrong numbers":  `{` + strings.Repeat(`"m":-1,`, many) + `"b":"AAAA"}`,
		"many nested lists":   `{"a":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}`,
		"few nested lists":    `{"a":` + strings.Repeat("[", 500) + strings.Repeat("]", 500) + `}`,
		"a set that is open":  `{"b":"` + digits,
		"a set of no base64":  `{"m":1,"k":1,"b":"` + strings.Repeat("\u00e9", many) + `"}`,
	} {
		_, err := formattest.Bounded(t, asJSON(), []byte(text))
		if !errors.Is(err, bloomery.ErrCorrupt) || len(err.Error()) > 2000 {
			t.Errorf("%s: %.100v", name, err)
		}
	}
	spaced := " {\n \"k\" : 7 ,\r\n \"b\" :\t\"AAAAAAAAAGCEBAwYBKAQ9AAAAABARIQM\" , \"m\" : 96 , \"note\": [\"x\"] }\n"
	if b, err := bitsandblooms.Open([]byte(spaced)); err != nil || !b.Contains([]byte("hello")) {
		t.Errorf("another order, and spaces: %v", err)
	}
}

// TestBytes compares a filter with what version 3.7.1 writes, and its JSON form with
// that.
func TestBytes(t *testing.T) {
	const want = "00000000000000600000000000000007000000000000006084040c1804a010f4000000004044840c"
	b, err := bitsandblooms.New(10, 0.01)
	formattest.Equal(t, "10 keys", b, err, want, "hello", "world", "bloom", "filter")
	text, err := bitsandblooms.JSON(b)
	if err != nil || string(text) != `{"m":96,"k":7,"b":"AAAAAAAAAGCEBAwYBKAQ9AAAAABARIQM"}` {
		t.Errorf("JSON: %s, %v", text, err)
	}
	back, err := bitsandblooms.Open(text)
	formattest.Equal(t, "from JSON", back, err, want)
}

func TestRefuses(t *testing.T) {
	zero := "\x00\x00\x00\x00\x00\x00\x00"
	for data, want := range map[string]error{
		"": bloomery.ErrCorrupt,
		zero + "\x40" + zero + "\x01" + zero + "\x41" + zero + "\x00": bloomery.ErrCorrupt, // another length
		zero + "\x40" + zero + "\x00" + zero + "\x40" + zero + "\x00": bloomery.ErrCorrupt, // no bit for a key
		zero + "\x3f" + zero + "\x01" + zero + "\x3f" + "\x80" + zero: bloomery.ErrCorrupt, // behind the end
		`{"m":64,"k":1,"b":"AAAAAAAAAEA="}`:                           bloomery.ErrCorrupt, // no words
		`{"m":64,"k":1,"b":"AAAAAAAAAA=="}`:                           bloomery.ErrCorrupt, // 7 bytes
		`{"m":64,"k":1,"b":"A"}`:                                      bloomery.ErrCorrupt,
		`{"m":64,"k":1,"b":7}`:                                        bloomery.ErrCorrupt,
		`{"m":-64}`:                                                   bloomery.ErrCorrupt,
		`{`:                                                           bloomery.ErrCorrupt,
	} {
		if _, err := bitsandblooms.Open([]byte(data)); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", data, err, want)
		}
	}
	for _, c := range []struct {
		n    uint64
		p    float64
		want error
	}{{0, 0.01, bloomery.ErrParameter}, {1, -1, bloomery.ErrParameter}, {1 << 63, 1e-9, bloomery.ErrTooLarge}} {
		if _, err := bitsandblooms.New(c.n, c.p); !errors.Is(err, c.want) {
			t.Errorf("New(%d, %v): %v, want %v", c.n, c.p, err, c.want)
		}
	}
	if _, err := bitsandblooms.JSON(&foreign.Bloom{}); !errors.Is(err, bloomery.ErrIncompatible) {
		t.Errorf("JSON of no filter: %v", err)
	}
}
