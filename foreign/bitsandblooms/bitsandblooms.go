// Package bitsandblooms reads and writes the filters of version 3 of bits-and-blooms for
// Go, github.com/bits-and-blooms/bloom/v3: what WriteTo, MarshalBinary and GobEncode
// write, and the JSON form.
package bitsandblooms

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/foreign"
	"github.com/bloomery/bloomery/foreign/internal/textbook"
	"github.com/bloomery/bloomery/internal/murmur"
)

// Format is the name of the format.
const Format = "bitsandblooms"

// headerSize is bits, bits for a key, and bits again, as the bit set has them.
const headerSize = 24

// New returns the filter that NewWithEstimates makes for n keys with false positive rate
// p. Errors wrap bloomery.ErrParameter or bloomery.ErrTooLarge.
func New(n uint64, p float64) (*foreign.Bloom, error) {
	if err := textbook.Check(Format, n, p); err != nil {
		return nil, err
	}
	bits := math.Ceil(textbook.Bits(n, p))
	if bits >= math.MaxInt64 {
		return nil, fmt.Errorf("bitsandblooms: new: %w: %.3g bits", bloomery.ErrTooLarge, bits)
	}
	l := layout(uint64(bits), uint64(math.Ceil(math.Ln2*bits/float64(n))))
	l.Capacity, l.ErrorRate = n, p
	return l.New()
}

// Open returns the filter in a file, in the binary or in the JSON form. Errors wrap
// bloomery.ErrCorrupt or bloomery.ErrTooLarge.
func Open(data []byte) (*foreign.Bloom, error) {
	if IsJSON(data) {
		return openJSON(data)
	}
	if len(data) < headerSize {
		return nil, fmt.Errorf("bitsandblooms: open: %w: %d bytes, and a header has %d", bloomery.ErrCorrupt, len(data), headerSize)
	}
	bits, probes := binary.BigEndian.Uint64(data), binary.BigEndian.Uint64(data[8:])
	if err := check(bits, probes, binary.BigEndian.Uint64(data[16:]), uint64(len(data)-headerSize)); err != nil {
		return nil, err
	}
	return layout(bits, probes).Big(data[headerSize:])
}

// check refuses what does not fit together: the sizes in the header, and the bytes of
// the array.
func check(bits, probes, again, have uint64) error {
	switch want := 8 * (bits/64 + min(bits%64, 1)); {
	case bits == 0 || bits > math.MaxInt64 || probes == 0 || probes > foreign.MaxProbes:
		return fmt.Errorf("bitsandblooms: open: %w: %d bits, %d for a key", bloomery.ErrCorrupt, bits, probes)
	case again != bits:
		return fmt.Errorf("bitsandblooms: open: %w: %d bits in a set of %d", bloomery.ErrCorrupt, bits, again)
	case have != want:
		return fmt.Errorf("bitsandblooms: open: %w: %d bytes, want %d for %d bits", bloomery.ErrCorrupt, have, want, bits)
	}
	return nil
}

// layout is that of a filter of so many bits.
func layout(bits, probes uint64) foreign.Layout {
	return foreign.Layout{
		Format: Format, Bits: bits, Probes: int(probes), Rule: rule,
		Append: func(dst []byte, b *foreign.Bloom) ([]byte, error) {
			dst = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(dst, bits), probes)
			return b.AppendBig(binary.BigEndian.AppendUint64(dst, bits)), nil
		},
	}
}

// rule has four hashes: those of the key, and those of the key and a byte 1. Bits
// alternate between them.
func rule(key []byte, bits uint64, probes int, visit func(uint64) bool) bool {
	var h [4]uint64
	h[0], h[1] = murmur.Sum128(key, 0)
	h[2], h[3] = murmur.Sum128Suffixed(key, 1)
	for i := range uint64(probes) {
		if !visit((h[i%2] + i*h[2+(i+i%2)%4/2]) % bits) {
			return false
		}
	}
	return true
}

// jsonForm is the JSON form. The set is in base64: its size, and its words.
type jsonForm struct {
	Bits   uint64    `json:"m"`
	Probes uint64    `json:"k"`
	Set    base64URL `json:"b"`
}

// base64URL is bytes as a text.
type base64URL []byte

// MarshalText implements encoding.TextMarshaler.
func (b base64URL) MarshalText() ([]byte, error) { return base64.URLEncoding.AppendEncode(nil, b), nil }

// UnmarshalJSON decodes the text where it lies: a string of it would take its memory
// once more.
func (b *base64URL) UnmarshalJSON(quoted []byte) error {
	text, begins := bytes.CutPrefix(quoted, []byte{'"'})
	text, ends := bytes.CutSuffix(text, []byte{'"'})
	if !begins || !ends {
		return errors.New("b is not a text")
	}
	decoded := make([]byte, base64.URLEncoding.DecodedLen(len(text)))
	n, err := base64.URLEncoding.Decode(decoded, text)
	*b = decoded[:n]
	return err
}

// IsJSON reports whether data begins like the JSON form.
func IsJSON(data []byte) bool {
	data = bytes.TrimLeft(data[:min(len(data), 64)], " \t\r\n")
	return len(data) > 0 && data[0] == '{'
}

// JSON returns the filter in the JSON form. Errors are those of Bloom.MarshalBinary, or
// wrap bloomery.ErrIncompatible if the filter is of another format.
func JSON(b *foreign.Bloom) ([]byte, error) {
	l := b.Layout()
	if l.Format != Format {
		return nil, fmt.Errorf("bitsandblooms: json: %w: a filter of %q", bloomery.ErrIncompatible, l.Format)
	}
	set := b.AppendBig(binary.BigEndian.AppendUint64(nil, l.Bits))
	return json.Marshal(jsonForm{l.Bits, uint64(l.Probes), set})
}

// besideSet is how long the JSON form may be without its set. It has 20 to 40 bytes; the
// rest is for spaces. Long numbers, long names and many of them take many times their
// length to decode, and stand in errors.
const besideSet = 1 << 10

// setLength returns the length of the set's text, 0 if there is none.
func setLength(data []byte) int {
	const spaces = " \t\r\n"
	_, value, _ := bytes.Cut(data, []byte(`"b"`))
	value, named := bytes.CutPrefix(bytes.TrimLeft(value, spaces), []byte{':'})
	text, quoted := bytes.CutPrefix(bytes.TrimLeft(value, spaces), []byte{'"'})
	if !named || !quoted {
		return 0
	}
	return max(bytes.IndexByte(text, '"'), 0)
}

// openJSON reads the JSON form.
func openJSON(data []byte) (*foreign.Bloom, error) {
	failed := func(err error) (*foreign.Bloom, error) {
		return nil, fmt.Errorf("bitsandblooms: open: %w: json: %v", bloomery.ErrCorrupt, err)
	}
	if len(data)-setLength(data) > besideSet {
		return failed(errors.New("more than the form has beside b"))
	}
	var j jsonForm
	if err := json.Unmarshal(data, &j); err != nil {
		return failed(err)
	}
	set := []byte(j.Set)
	if len(set) < 8 {
		return failed(errors.New("b is too short"))
	}
	if err := check(j.Bits, j.Probes, binary.BigEndian.Uint64(set), uint64(len(set)-8)); err != nil {
		return nil, err
	}
	return layout(j.Bits, j.Probes).Big(set[8:])
}
