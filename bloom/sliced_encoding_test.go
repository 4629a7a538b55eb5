package bloom_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/hashing"
)

func TestSlicedEncoding(t *testing.T) {
	for _, columns := range []int{1, 70, 256, 700} {
		s, sets := filled(t, columns, 40, 0.01)
		if columns > 2 {
			if err := s.RemoveColumn(1); err != nil {
				t.Fatal(err)
			}
		}
		data, err := s.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		var file bytes.Buffer
		if n, err := s.WriteTo(&file); n != int64(len(data)) || err != nil || !bytes.Equal(file.Bytes(), data) {
			t.Errorf("WriteTo: %d bytes, %v, differ from MarshalBinary", n, err)
		}
		var x bloom.Sliced
		if err := x.UnmarshalBinary(data); err != nil {
			t.Fatal(err)
		}
		r := io.MultiReader(iotest.HalfReader(bytes.NewReader(data)), strings.NewReader("rest"))
		y, err := bloom.Config{}.ReadSliced(r)
		if err != nil {
			t.Fatal(err)
		}
		if rest, _ := io.ReadAll(r); string(rest) != "rest" {
			t.Errorf("after reading %q is left", rest)
		}
		for shift := range 9 {
			moved := append(make([]byte, shift, shift+len(data)), data...)[shift:]
			v, err := bloom.Config{}.ViewSliced(moved)
			if err != nil {
				t.Fatal(err)
			}
			if err := v.Verify(); err != nil {
				t.Error(err)
			}
			cloned, err := v.Clone()
			if err != nil {
				t.Fatal(err)
			}
			for name, got := range map[string]encoder{"unmarshalled": &x, "read": y, "viewed": v, "cloned": cloned} {
				if again, _ := got.MarshalBinary(); !bytes.Equal(again, data) {
					t.Fatalf("%d columns: the %s ones encode to other bytes", columns, name)
				}
				for _, h := range append(hashes(50, 8), sets[0][:10]...) {
					if !slices.Equal(which(t, got, h), which(t, s, h)) {
						t.Fatalf("%d columns: the %s ones answer differently", columns, name)
					}
				}
				if got.Stats() != s.Stats() {
					t.Errorf("%d columns: Stats of the %s ones differ", columns, name)
				}
			}
		}
	}
}

// encoder is what all readable forms of a Sliced have in common.
type encoder interface {
	MarshalBinary() ([]byte, error)
	Which([]uint64, uint64)
	Words() int
	Stats() bloomery.Stats
}

// TestSlicedDamage flips every bit of the header, many of the rest, and cuts.
func TestSlicedDamage(t *testing.T) {
	s, _ := filled(t, 10, 40, 0.01)
	data, _ := s.MarshalBinary()
	keep, _ := filled(t, 3, 5, 0.5)
	before, _ := keep.MarshalBinary()
	refused := func(what string, data []byte) {
		t.Helper()
		err := keep.UnmarshalBinary(data)
		_, readErr := bloom.Config{}.ReadSliced(bytes.NewReader(data))
		for _, err := range []error{err, readErr} {
			if !errors.Is(err, bloomery.ErrCorrupt) && !errors.Is(err, bloomery.ErrVersion) && !errors.Is(err, bloomery.ErrKey) {
				t.Errorf("%s: %v, want ErrCorrupt, ErrVersion or ErrKey", what, err)
			}
		}
	}
	for at := range data {
		for bit := range 8 {
			if at >= 64 && bit != at%8 {
				continue
			}
			bad := bytes.Clone(data)
			bad[at] ^= 1 << bit
			refused(fmt.Sprintf("byte %d, bit %d flipped", at, bit), bad)
			v, err := bloom.Config{}.ViewSliced(bad)
			if (err == nil) != (at >= 64) {
				t.Errorf("byte %d, bit %d flipped: view: %v", at, bit, err)
			}
			if err == nil && !errors.Is(v.Verify(), bloomery.ErrCorrupt) {
				t.Errorf("byte %d, bit %d flipped: Verify finds nothing", at, bit)
			}
		}
	}
	for n := range data {
		if n < 300 || n > len(data)-10 {
			refused(fmt.Sprintf("cut off after %d bytes", n), data[:n])
		}
	}
	if err := keep.UnmarshalBinary(append(bytes.Clone(data), 0)); !errors.Is(err, bloomery.ErrCorrupt) {
		t.Errorf("a byte too many: %v", err)
	}
	if after, _ := keep.MarshalBinary(); !bytes.Equal(before, after) {
		t.Error("refused data changed the receiver")
	}
	f, _ := bloom.New(10, 0.1).MarshalBinary()
	if err := keep.UnmarshalBinary(f); !errors.Is(err, bloomery.ErrIncompatible) {
		t.Errorf("a Filter: %v, want ErrIncompatible", err)
	}
	if err := new(bloom.Standard).UnmarshalBinary(data); !errors.Is(err, bloomery.ErrIncompatible) {
		t.Errorf("as a Standard: %v, want ErrIncompatible", err)
	}
}

func TestSlicedWrongKey(t *testing.T) {
	right, wrong := hashing.Keyed([16]byte{1}), hashing.Keyed([16]byte{2})
	c := bloom.Config{Columns: 2, Capacity: 10, ErrorRate: 0.1, Hasher: right}
	s, err := c.NewSliced()
	if err != nil {
		t.Fatal(err)
	}
	data, _ := s.MarshalBinary()
	if _, err := (bloom.Config{Hasher: right}).ViewSliced(data); err != nil {
		t.Errorf("right key: %v", err)
	}
	for name, h := range map[string]hashing.Hasher{"wrong key": wrong, "no key": {}} {
		if _, err := (bloom.Config{Hasher: h}).ViewSliced(data); !errors.Is(err, bloomery.ErrKey) {
			t.Errorf("%s: %v, want ErrKey", name, err)
		}
	}
}

// reseal makes the checksums of an encoding below 1 MiB right again.
func reseal(data []byte) []byte {
	table := crc32.MakeTable(crc32.Castagnoli)
	le := binary.LittleEndian
	le.PutUint32(data[60:], crc32.Checksum(data[:60], table))
	sums := data[len(data)-8:]
	le.PutUint32(sums, crc32.Checksum(data[64:len(data)-8], table))
	le.PutUint32(sums[4:], crc32.Checksum(sums[:4], table))
	return data
}

// TestSlicedForged opens encodings whose checksums are right and whose
// contents make no sense.
func TestSlicedForged(t *testing.T) {
	s, sets := filled(t, 10, 40, 0.01)
	data, _ := s.MarshalBinary()
	if _, err := (bloom.Config{}).ViewSliced(reseal(bytes.Clone(data))); err != nil {
		t.Fatal(err)
	}
	le := binary.LittleEndian
	for name, forge := range map[string]func(b []byte){
		"rows of 0 words":    func(b []byte) { le.PutUint32(b[56:], 0) },
		"rows of 2 words":    func(b []byte) { le.PutUint32(b[56:], 2) },
		"rows of 5 words":    func(b []byte) { le.PutUint32(b[56:], 5) },
		"rows of 17 words":   func(b []byte) { le.PutUint32(b[56:], 17) },
		"rows of 2^32 words": func(b []byte) { le.PutUint32(b[56:], math.MaxUint32) },
		"0 bits":             func(b []byte) { le.PutUint64(b[40:], 0) },
		"2^63 bits":          func(b []byte) { le.PutUint64(b[40:], 1<<63); le.PutUint32(b[56:], 16) },
		"k = 0":              func(b []byte) { b[13] = 0 },
		"k = 65":             func(b []byte) { b[13] = 65 },
	} {
		bad := bytes.Clone(data)
		forge(bad)
		reseal(bad)
		if _, err := (bloom.Config{}).ViewSliced(bad); !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("%s: view: %v, want ErrCorrupt", name, err)
		}
		if err := new(bloom.Sliced).UnmarshalBinary(bad); !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("%s: %v, want ErrCorrupt", name, err)
		}
	}

	// Column 3 out of use with its bits left, and columns that cannot be.
	left := bytes.Clone(data)
	left[64] &^= 1 << 3
	beyond := bytes.Clone(data)
	beyond[64+8*5] = 1
	for name, bad := range map[string][]byte{"bits left": reseal(left), "column 320": reseal(beyond)} {
		var x bloom.Sliced
		_, readErr := bloom.Config{}.ReadSliced(bytes.NewReader(bad))
		for _, err := range []error{x.UnmarshalBinary(bad), readErr} {
			if !errors.Is(err, bloomery.ErrCorrupt) || !strings.Contains(err.Error(), "not in use") {
				t.Errorf("%s: %v, want ErrCorrupt", name, err)
			}
		}
		v, err := bloom.Config{}.ViewSliced(bad)
		if err != nil {
			t.Fatal(err)
		}
		clone, err := v.Clone()
		if err != nil {
			t.Fatal(err)
		}
		again, _ := clone.MarshalBinary()
		if err := x.UnmarshalBinary(again); err != nil {
			t.Errorf("%s: the clone of the view: %v", name, err)
		}
	}
	v, _ := bloom.Config{}.ViewSliced(left)
	if has(which(t, v, sets[3][0]), 3) || !has(which(t, v, sets[4][0]), 4) {
		t.Error("a view finds keys in a column that is not in use, or forgets others")
	}
}
