// Package dcso reads and writes the .bloom files of DCSO's bloom, plain and gzipped:
// those of its program and of its Go library, of MISP, and of CIRCL's hashlookup.
//
//	f, err := dcso.Open(data)
//	if err != nil {
//		return err
//	}
//	found := f.Contains([]byte("301C9EC7A9AADEE4D745E8FD4FA659DAFBBCC6B75"))
//
// What such a file has attached behind its bits, JSON by habit, is kept.
package dcso

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/foreign"
	"github.com/bloomery/bloomery/foreign/internal/textbook"
	"github.com/bloomery/bloomery/internal/memory"
)

// Format is the name of the format.
const Format = "dcso"

// headerSize is version and flags, capacity, rate, bits for a key, bits, and keys.
const headerSize = 48

// version is in the lowest byte of the file.
const version = 1

// New returns an empty filter for n keys with false positive rate p, as large as DCSO
// makes it. Errors wrap bloomery.ErrParameter or bloomery.ErrTooLarge.
func New(n uint64, p float64) (*foreign.Bloom, error) {
	if err := textbook.Check(Format, n, p); err != nil {
		return nil, err
	}
	bits := math.Floor(textbook.Bits(n, p))
	if bits >= math.MaxInt64 {
		return nil, fmt.Errorf("dcso: new: %w: %.3g bits", bloomery.ErrTooLarge, bits)
	}
	bits = max(bits, 1)
	return layout(header{flags: version, capacity: n, rate: p, probes: uint64(math.Ceil(math.Ln2 * bits / float64(n))), bits: uint64(bits)}, nil).New()
}

// Open returns the filter in a file, plain or gzipped. Errors wrap bloomery.ErrCorrupt,
// bloomery.ErrVersion or bloomery.ErrTooLarge. What is gzipped takes the memory of what
// it unpacks to, and no more of it is unpacked than its header asks for, with 1 MiB for
// what is attached.
func Open(data []byte) (*foreign.Bloom, error) {
	if Gzipped(data) {
		var err error
		if data, err = unpack(data); err != nil {
			return nil, err
		}
	}
	h, err := parse(data)
	if err != nil {
		return nil, err
	}
	array := 8 * h.words()
	if have := uint64(len(data) - headerSize); have < array {
		return nil, fmt.Errorf("dcso: open: %w: %d bytes for %d bits", bloomery.ErrCorrupt, have, h.bits)
	}
	b, err := layout(h, bytes.Clone(data[headerSize+array:])).Little(data[headerSize : headerSize+array])
	if err != nil {
		return nil, err
	}
	b.SetItems(h.keys)
	return b, nil
}

// Gzipped reports whether data is the beginning of a gzip file.
func Gzipped(data []byte) bool { return len(data) >= 2 && data[0] == 0x1f && data[1] == 0x8b }

// Gzip returns the filter as a gzipped file. Errors are those of Bloom.MarshalBinary.
func Gzip(b *foreign.Bloom) ([]byte, error) {
	data, err := b.MarshalBinary()
	if err != nil {
		return nil, err
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err = z.Write(data)
	if err = errors.Join(err, z.Close()); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}

// header is the beginning of a file.
type header struct {
	flags, capacity    uint64
	rate               float64
	probes, bits, keys uint64
}

// words is the number of words of the array.
func (h header) words() uint64 { return h.bits/64 + min(h.bits%64, 1) }

// parse reads and checks a header.
func parse(data []byte) (h header, err error) {
	if len(data) < headerSize {
		return h, fmt.Errorf("dcso: open: %w: %d bytes, and a header has %d", bloomery.ErrCorrupt, len(data), headerSize)
	}
	at := func(i int) uint64 { return binary.LittleEndian.Uint64(data[8*i:]) }
	h = header{at(0), at(1), math.Float64frombits(at(2)), at(3), at(4), at(5)}
	switch {
	case byte(h.flags) != version:
		return h, fmt.Errorf("dcso: open: %w: %d, and %d is known", bloomery.ErrVersion, byte(h.flags), version)
	case h.probes > foreign.MaxProbes:
		return h, fmt.Errorf("dcso: open: %w: %d bits for a key is too high", bloomery.ErrCorrupt, h.probes)
	case h.probes == 0 || h.bits == 0 || h.bits > math.MaxInt64 || !(h.rate > 0 && h.rate < 1):
		return h, fmt.Errorf("dcso: open: %w: %d bits, %d for a key, rate %v", bloomery.ErrCorrupt, h.bits, h.probes, h.rate)
	}
	return h, nil
}

// append appends the header.
func (h header) append(dst []byte) []byte {
	for _, x := range []uint64{h.flags, h.capacity, math.Float64bits(h.rate), h.probes, h.bits, h.keys} {
		dst = binary.LittleEndian.AppendUint64(dst, x)
	}
	return dst
}

// layout is that of a filter with this header, and with something attached to it.
func layout(h header, attached []byte) foreign.Layout {
	return foreign.Layout{
		Format: Format, Bits: h.bits, Probes: int(h.probes), Rule: rule, Counts: true, Capacity: h.capacity, ErrorRate: h.rate,
		Append: func(dst []byte, b *foreign.Bloom) ([]byte, error) {
			h := h
			h.keys = b.Items()
			dst = b.AppendLittle(h.append(dst), 8*b.Words())
			return append(dst, attached...), nil
		},
	}
}

// Constants of the rule: the modulus is the largest prime below 2^64, the factor
// generates all numbers below it.
const (
	modulus = 18446744073709551557
	factor  = 18446744073709550147
)

// rule multiplies the hash by a constant from bit to bit; the product is cut to 64 bits
// before the remainder is taken.
func rule(key []byte, bits uint64, probes int, visit func(uint64) bool) bool {
	h := fnv1(key) % modulus
	for range probes {
		h = h * factor % modulus
		if !visit(h % bits) {
			return false
		}
	}
	return true
}

// fnv1 is FNV-1 with 64 bits, which multiplies first; FNV-1a does so at last.
func fnv1(key []byte) uint64 {
	h := uint64(0xcbf29ce484222325)
	for _, b := range key {
		h = h*0x100000001b3 ^ uint64(b)
	}
	return h
}

// attachable is how much may be attached to a gzipped filter.
const attachable = 1 << 20

// unpack returns what a gzip file holds. It is read twice, the first time to see how
// long it is: so it takes just its memory, however well it was packed.
func unpack(data []byte) ([]byte, error) {
	failed := func(err error) error { return fmt.Errorf("dcso: open: %w: gzip: %v", bloomery.ErrCorrupt, err) }
	// A header may announce an extra field of 64 KiB, for which memory would be taken.
	const flags, extraFlag, extraSize, extra = 3, 4, 10, 12
	if len(data) > flags && data[flags]&extraFlag != 0 && (len(data) < extra || len(data)-extra < int(binary.LittleEndian.Uint16(data[extraSize:]))) {
		return nil, failed(io.ErrUnexpectedEOF)
	}
	source := bytes.NewReader(data)
	z, err := gzip.NewReader(source)
	if err != nil {
		return nil, failed(err)
	}
	z.Multistream(false)
	start := make([]byte, headerSize)
	if _, err := io.ReadFull(z, start); err != nil {
		return nil, failed(err)
	}
	h, err := parse(start)
	if err != nil {
		return nil, err
	}
	most := 8*h.words() + attachable
	if err := memory.Fits(2 * most); err != nil {
		return nil, fmt.Errorf("dcso: open: %w", err)
	}
	n, err := io.Copy(io.Discard, io.LimitReader(z, int64(most)+1))
	switch {
	case err != nil:
		return nil, failed(err)
	case uint64(n) < 8*h.words():
		return nil, fmt.Errorf("dcso: open: %w: %d bytes for %d bits", bloomery.ErrCorrupt, n, h.bits)
	case uint64(n) > most:
		return nil, fmt.Errorf("dcso: open: %w: more than %d bytes are attached", bloomery.ErrTooLarge, attachable)
	case source.Len() > 0:
		return nil, fmt.Errorf("dcso: open: %w: %d bytes behind the gzip data", bloomery.ErrCorrupt, source.Len())
	}
	source.Reset(data)
	if err := z.Reset(source); err != nil {
		return nil, failed(err)
	}
	z.Multistream(false)
	unpacked := make([]byte, headerSize+n)
	if _, err := io.ReadFull(z, unpacked); err != nil {
		return nil, failed(err)
	}
	return unpacked, nil
}
