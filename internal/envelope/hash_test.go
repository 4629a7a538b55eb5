package envelope

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
)

func TestHeaderHasher(t *testing.T) {
	a, b := hashing.Keyed([16]byte{1}), hashing.Keyed([16]byte{2})
	f := hashing.Func(func(key []byte) uint64 { return uint64(len(key)) })
	for name, c := range map[string]struct {
		made, given, want hashing.Hasher
		err               error
	}{
		"seed":                {hashing.Seeded(7), hashing.Hasher{}, hashing.Seeded(7), nil},
		"seed, key given":     {hashing.Seeded(7), a, hashing.Seeded(7), nil},
		"seed, seed given":    {hashing.Seeded(7), hashing.Seeded(8), hashing.Seeded(7), nil},
		"key":                 {a, a, a, nil},
		"key, none given":     {a, hashing.Hasher{}, a, bloomery.ErrKey},
		"key, other given":    {a, b, a, bloomery.ErrKey},
		"key, function given": {a, f, a, bloomery.ErrKey},
		"function":            {f, f, f, nil},
	} {
		h := Header{Hash: c.made.Kind(), Check: c.made.Check()}
		got, err := h.Hasher(c.given)
		if name == "key, none given" && err.Error() != bloomery.ErrKey.Error()+": the filter was made with a secret key (hashing.Keyed), and none was given" {
			t.Errorf("%s: %v", name, err)
		}
		if !errors.Is(err, c.err) || err == nil && !got.Equal(c.want) {
			t.Errorf("%s: %v, %v, want %v, %v", name, got, err, c.want, c.err)
		}
	}
}

func TestSameHash(t *testing.T) {
	a, b := hashing.Keyed([16]byte{1}), hashing.Keyed([16]byte{2})
	for name, c := range map[string]struct {
		x, y hashing.Hasher
		text string // of the error, "" for none
	}{
		"same seed":   {hashing.Seeded(7), hashing.Seeded(7), ""},
		"same key":    {a, hashing.Keyed([16]byte{1}), ""},
		"other seed":  {hashing.Seeded(7), hashing.Seeded(8), "seed 7 and seed 8"},
		"other key":   {a, b, "different keys"},
		"other kinds": {a, hashing.Hasher{}, "and"},
	} {
		err := SameHash(c.x, c.y)
		if same := c.text == ""; same != (err == nil) || !same && (!errors.Is(err, bloomery.ErrIncompatible) || !strings.Contains(err.Error(), c.text)) {
			t.Errorf("%s: %v, want %q", name, err, c.text)
		}
	}
}

// The numbers of kinds are part of the file format.
func TestKindNumbers(t *testing.T) {
	kinds := []int{
		KindBloom, KindStandard, KindPartitioned, KindSplit, KindScalable, KindSliced, KindCounting, KindSpectral, KindStable,
		KindCuckoo, KindQuotient, KindFuse8, KindFuse16, KindFuse32, KindRibbon,
		KindGrowing, KindWindow, KindQuorum, KindStriped, KindMap, KindExact, KindCorrected, KindLayers,
	}
	for i, kind := range kinds {
		if kind != i+1 {
			t.Errorf("kind %d has number %d", i+1, kind)
		}
	}
}

// short writes less than it is given and reports no error.
type short struct{ after int }

func (s *short) Write(b []byte) (int, error) {
	if s.after--; s.after < 0 {
		return len(b) - 1, nil
	}
	return len(b), nil
}

func TestShortWrites(t *testing.T) {
	h, words := sampleHeader(10), sampleWords(10)
	for after := range 3 { // header, payload, table
		if _, err := WriteTo(&short{after}, h, words); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("write %d is short: %v, want io.ErrShortWrite", after, err)
		}
	}
	if n, err := WriteTo(&short{3}, h, words); err != nil || uint64(n) != h.EncodedSize() {
		t.Errorf("WriteTo = %d, %v, want %d", n, err, h.EncodedSize())
	}
}

// Read returns how much it has read, also when it fails.
func TestReadCounts(t *testing.T) {
	h, words := sampleHeader(10), sampleWords(10)
	data := Append(nil, h, words)
	for size := range len(data) + 1 {
		r := strings.NewReader(string(data[:size]))
		_, _, n, err := Read(r, accept)
		if n != int64(size) || (err == nil) != (size == len(data)) {
			t.Fatalf("%d of %d bytes: Read = %d, %v", size, len(data), n, err)
		}
	}
	no := errors.New("no")
	if _, _, n, err := Read(strings.NewReader(string(data)), func(Header) error { return no }); n != HeaderSize || !errors.Is(err, no) {
		t.Errorf("refused: Read = %d, %v", n, err)
	}
	for _, at := range []int{14, 15} { // reserved, with a sound checksum
		bad := []byte(string(data[:HeaderSize]))
		bad[at] = 1
		if _, err := ParseHeader(reseal(bad)); !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("byte %d is set: %v, want ErrCorrupt", at, err)
		}
	}
}
