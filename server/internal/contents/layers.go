package contents

// The layers, generations and members of a part.

import (
	"encoding"
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/bloomery/bloomery"
	bitfilter "github.com/bloomery/bloomery/bloom"
	composed "github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/quotient"
)

// Layer is one of the filters that a part consists of: a layer, a generation, a
// member or a sub-filter.
type Layer struct {
	bloomery.Stats
	// Generation is the number of a generation; Aged reports that there is one.
	Generation uint64
	Aged       bool
}

// Layers describes the filters that the part consists of, at most so many: layers
// oldest first, generations newest first. A filter of one array is its only layer. It
// waits for the lock, and reports false if the part is gone.
func (p *Part) Layers(most int) (layers []Layer, ok bool) {
	ok = p.look(true, func(c Contents) {
		switch c := c.(type) {
		case bloom:
			layers = bloomLayers(c, most)
		case cuckoo:
			layers = cuckooLayers(c, most)
		case *Filter:
			layers = filterLayers(c.f, most)
		}
	})
	return layers, ok
}

func filterLayers(f bloomery.Hashed, most int) (layers []Layer) {
	switch f := f.(type) {
	case *bitfilter.Scalable:
		for i := range min(f.Layers(), most) {
			layers = append(layers, Layer{Stats: f.Layer(i)})
		}
	case *composed.Window:
		for back := range uint64(min(f.Shape().Generations+1, most)) {
			if back > f.Generation() {
				break // before the first
			}
			layers = append(layers, Layer{f.Past(int(back)), f.Generation() - back, true})
		}
	case *composed.Quorum:
		for _, m := range f.Members() {
			if len(layers) < most {
				layers = append(layers, Layer{Stats: m.Stats()})
			}
		}
	default:
		layers = []Layer{{Stats: f.Stats()}}
	}
	return layers
}

// bloomLayers describes the layers of a BF. The rate of one is that of independent
// bits.
func bloomLayers(c bloom, most int) (layers []Layer) {
	for array := range c.Arrays() {
		if len(layers) == min(most, c.Layers()) {
			break
		}
		l := c.Layer(len(layers))
		fill := share(array, true)
		layers = append(layers, Layer{Stats: bloomery.Stats{
			Kind: "bf", Capacity: l.Capacity, Items: l.Size, Exact: true, Bits: l.Bits, Bytes: l.Bytes,
			Saturation: fill, Asked: l.ErrorRate, Predicted: math.Pow(fill, float64(l.Hashes)),
		}})
	}
	return layers
}

// cuckooLayers describes the sub-filters of a CF. An absent item finds its
// fingerprint, of 255, in one of the slots of two buckets.
func cuckooLayers(c cuckoo, most int) (layers []Layer) {
	slots := 2 * float64(c.BucketSize())
	for array := range c.Arrays() {
		if len(layers) == most {
			break
		}
		n, load := uint64(len(array)), share(array, false)
		layers = append(layers, Layer{Stats: bloomery.Stats{
			Kind: "cf", Capacity: n, Items: uint64(math.Round(load * float64(n))), Bits: 8 * n, Bytes: n,
			Saturation: load, Asked: slots / 255, Predicted: 1 - math.Pow(1-1.0/255, slots*load),
		}})
	}
	return layers
}

// sampleBytes is how much of an array, or of a piece of it, is looked at.
const sampleBytes = 4 << 10

// share returns the share of an array that is in use: of its bits, or of its bytes
// that are not 0. Of a large one, pieces are looked at.
func share(array []byte, ofBits bool) float64 {
	const pieces = 16
	if len(array) <= pieces*sampleBytes {
		return used(array, ofBits)
	}
	sum := 0.0
	for i := range pieces {
		at := (len(array) - sampleBytes) / (pieces - 1) * i
		sum += used(array[at:at+sampleBytes], ofBits) / pieces
	}
	return sum
}

// used is share for a piece that is looked at as a whole.
func used(piece []byte, ofBits bool) float64 {
	if len(piece) == 0 {
		return 0
	}
	n := 0
	if !ofBits {
		for _, b := range piece {
			if b != 0 {
				n++
			}
		}
		return float64(n) / float64(len(piece))
	}
	whole := len(piece) / 8 * 8
	for at := 0; at < whole; at += 8 {
		n += bits.OnesCount64(binary.LittleEndian.Uint64(piece[at:]))
	}
	for _, b := range piece[whole:] {
		n += bits.OnesCount8(b)
	}
	return float64(n) / float64(8*len(piece))
}

// DensityCells is how many cells are filled under one lock.
const DensityCells = 256

// Cell is a piece of the arrays of a part.
type Cell struct {
	Used  float64 // share
	Array int     // that it begins in, in the order in which they were made
}

// Density sets each cell to how full a piece of the arrays of the part is, and reports
// whether that is a share of bits or of bytes that are not 0. There are so many pieces, equally
// long, and the cells are for those from first on. Of a piece, at most 4 KiB are looked at.
// It waits for the lock, and reports false if the part is gone.
func (p *Part) Density(cells []Cell, first, pieces int) (ofBits, ok bool) {
	ok = p.look(true, func(c Contents) {
		if f, is := c.(*Filter); is {
			if g, is := f.f.(*quotient.Growing); is {
				growingDensity(cells, first, pieces, g)
				return
			}
		}
		var arrays [][]byte
		if arrays, ofBits = arraysOf(c); len(arrays) > 0 {
			density(cells, first, pieces, arrays, ofBits)
		}
	})
	return ofBits, ok
}

// growingDensity is density for a filter of very many small arrays, which are in the order
// of hashes.
func growingDensity(cells []Cell, first, pieces int, g *quotient.Growing) {
	size := int(min(g.Stats().Bits/8/uint64(pieces)+1, sampleBytes))
	for i := range cells {
		h, _ := bits.Div64(uint64(first+i), 0, uint64(pieces))
		cells[i].Used = used(g.Sample(h, size), false)
	}
}

func density(cells []Cell, first, pieces int, arrays [][]byte, ofBits bool) {
	size, before, array := 0, 0, 0 // what stands before the array that a piece is in
	for _, a := range arrays {
		size += len(a)
	}
	for i := range cells {
		from, to := pieceAt(size, first+i, pieces), pieceAt(size, first+i+1, pieces)
		if to = min(max(to, from+1), size); from >= to {
			continue
		}
		for from-before >= len(arrays[0]) {
			before, array, arrays = before+len(arrays[0]), array+1, arrays[1:]
		}
		// A piece that reaches into the next array is cut off there.
		a := arrays[0][from-before:]
		cells[i] = Cell{used(a[:min(to-from, len(a), sampleBytes)], ofBits), array}
	}
}

// pieceAt returns where piece i of n begins.
func pieceAt(size, i, n int) int { return int(float64(size) / float64(n) * float64(i)) }

// bitKinds are the kinds whose arrays are bits; others have fingerprints or counters.
var bitKinds = map[string]bool{"bloom": true, "standard": true, "partitioned": true, "split": true, "scalable": true, "window": true, "counting": true}

// arraysOf returns the arrays of contents, and whether they are bits. The caller
// holds the lock of the part.
func arraysOf(c Contents) (arrays [][]byte, ofBits bool) {
	switch c := c.(type) {
	case bloom:
		for a := range c.Arrays() {
			arrays = append(arrays, a)
		}
		return arrays, true
	case cuckoo:
		for a := range c.Arrays() {
			arrays = append(arrays, a)
		}
		return arrays, false
	case *Filter:
		ofBits = bitKinds[c.plan.Load().Kind.Name]
		if c.own != nil && len(c.own.list) > 0 {
			return c.own.list, ofBits
		}
		return encodedArray(c.f), ofBits
	}
	return nil, false
}

// encodedArray returns the array of a small filter, from its encoding: what stands
// between header and checksum.
func encodedArray(f bloomery.Hashed) [][]byte {
	const header = 64
	m, ok := f.(encoding.BinaryMarshaler)
	if !ok {
		return nil
	}
	data, err := m.MarshalBinary()
	if err != nil || len(data) < header {
		return nil
	}
	size := binary.LittleEndian.Uint64(data[48:])
	return [][]byte{data[header : header+min(size, uint64(len(data)-header))]}
}
