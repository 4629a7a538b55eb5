package bloom

import (
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/sizing"
)

// lineWords is the number of words in a cache line: the payload of a Scalable
// begins with a line about it and one about each layer, and every array begins
// at a line.
const lineWords = 8

// header returns the header of the encoding.
func (f *layered) header() envelope.Header {
	h := envelope.Header{
		Kind:     envelope.KindScalable,
		Hash:     f.hasher.Kind(),
		Check:    f.hasher.Check(),
		K:        uint8(f.growth),
		Extra:    uint32(len(f.layers)),
		Capacity: f.first,
		Rate:     f.rate,
		Payload:  8 * lineWords * uint64(1+len(f.layers)),
	}
	for i := range f.layers {
		h.Size += f.layers[i].shape.Bits
		h.Payload += 8 * padded(f.layers[i].shape.Bits)
	}
	return h
}

// padded returns the words of an array of n bits in whole lines.
func padded(n uint64) uint64 { return (wordsFor(n) + lineWords - 1) &^ (lineWords - 1) }

// payload returns the parts of the payload: lines of facts, then the arrays.
func (f *layered) payload() [][]uint64 {
	facts := make([]uint64, lineWords*(1+len(f.layers)))
	facts[0], facts[1], facts[2] = math.Float64bits(f.total), uint64(f.made), uint64(f.shares)
	parts := append(make([][]uint64, 0, 1+2*len(f.layers)), facts)
	for i := range f.layers {
		x := &f.layers[i]
		kind := uint64(envelope.KindStandard)
		if x.blocked() {
			kind = envelope.KindBloom
		}
		copy(facts[lineWords*(i+1):], []uint64{kind, x.shape.Bits, uint64(x.shape.K), x.capacity, math.Float64bits(x.rate), x.items})
		parts = append(parts, x.words, make([]uint64, padded(x.shape.Bits)-uint64(len(x.words))))
	}
	return parts
}

// AppendBinary appends the encoding of the filter to dst. The error is nil but
// for a zero filter.
func (f *Scalable) AppendBinary(dst []byte) ([]byte, error) {
	if len(f.layers) == 0 {
		return dst, errZero("marshal")
	}
	return envelope.Append(dst, f.header(), f.payload()...), nil
}

// MarshalBinary returns the encoding of the filter. The error is nil but for a
// zero filter.
func (f *Scalable) MarshalBinary() ([]byte, error) { return f.AppendBinary(nil) }

// WriteTo writes the encoding of the filter to w.
func (f *Scalable) WriteTo(w io.Writer) (int64, error) {
	if len(f.layers) == 0 {
		return 0, errZero("write")
	}
	return envelope.WriteTo(w, f.header(), f.payload()...)
}

// parseLayered checks all fields of a header. The layers are in the payload.
func parseLayered(h envelope.Header, given hashing.Hasher) (layered, error) {
	arrays := h.Payload - 8*lineWords*(1+uint64(h.Extra)) // if that is negative: a number above all others
	if err := h.CheckKind(envelope.KindScalable); err != nil {
		return layered{}, err
	}
	switch {
	case h.Extra < 1 || h.Extra > maxLayers:
		return layered{}, fmt.Errorf("%w: %d layers", bloomery.ErrCorrupt, h.Extra)
	case arrays > h.Payload || h.Size/8 > arrays || arrays-h.Size/8 > 8*lineWords*uint64(h.Extra):
		return layered{}, fmt.Errorf("%w: payload of %d bytes for %d layers of %d bits", bloomery.ErrCorrupt, h.Payload, h.Extra, h.Size)
	case h.K < minGrowth || h.Capacity < 1 || !(h.Rate >= minScalableRate && h.Rate < 1):
		return layered{}, fmt.Errorf("%w: growth %d, first capacity %d, rate %v", bloomery.ErrCorrupt, h.K, h.Capacity, h.Rate)
	}
	hasher, err := h.Hasher(given)
	return layered{hasher: hasher, growth: int(h.K), first: h.Capacity, rate: h.Rate}, err
}

// parseLayers reads the layers from the payload, which they keep.
func (f *layered) parseLayers(h envelope.Header, words []uint64) error {
	n := int(h.Extra)
	facts, rest := words[:lineWords*(1+n)], words[lineWords*(1+n):]
	total, made, rule := math.Float64frombits(facts[0]), facts[1], shares(facts[2])
	if !(total >= f.rate && total < 1) || made < 1 || made > uint64(n) || !zero(facts[3:lineWords]) {
		return fmt.Errorf("%w: rate %v of all layers, %d of them made", bloomery.ErrCorrupt, total, made)
	}
	if rule > flatShares {
		return fmt.Errorf("%w: rule %d for the rates of layers: a later release made the filter", bloomery.ErrVersion, rule)
	}
	f.total, f.made, f.shares = total, int(made), rule
	f.layers = make([]layer, n)
	size := uint64(0)
	for i := range f.layers {
		x, err := parseLayer(facts[lineWords*(i+1):lineWords*(i+2)], f.hasher)
		if err == nil && x.rate > total {
			err = fmt.Errorf("rate %v, that of all layers is %v", x.rate, total)
		}
		if err != nil {
			return fmt.Errorf("%w: layer %d: %w", bloomery.ErrCorrupt, i+1, err)
		}
		used, all := wordsFor(x.shape.Bits), padded(x.shape.Bits)
		if all > uint64(len(rest)) || !zero(rest[used:all]) {
			return fmt.Errorf("%w: layer %d: %d bits do not fit", bloomery.ErrCorrupt, i+1, x.shape.Bits)
		}
		x.flat = newFlat(x.base, rest[:used:used])
		f.layers[i] = x
		rest = rest[all:]
		size += x.shape.Bits
	}
	f.tapered = rule == oldShares && f.layers[f.firstLayer()].rate == taperedShare(f.rate, 1)
	if len(rest) != 0 || size != h.Size {
		return fmt.Errorf("%w: the layers have %d bits, the header says %d", bloomery.ErrCorrupt, size, h.Size)
	}
	return nil
}

// parseLayer reads the line about one layer; its array comes later.
func parseLayer(line []uint64, hasher hashing.Hasher) (layer, error) {
	shape := sizing.Shape{Layout: sizing.Standard, Bits: line[1], K: int(min(line[2], math.MaxInt8))}
	rate := math.Float64frombits(line[4])
	switch {
	case line[0] == envelope.KindBloom:
		shape.Layout = sizing.Blocked
	case line[0] != envelope.KindStandard:
		return layer{}, fmt.Errorf("kind %d", line[0])
	}
	if err := shape.Valid(); err != nil {
		return layer{}, err
	}
	// Every key that was counted has set a bit.
	if !possibleLayer(shape, line[3], rate) || line[5] > shape.Bits || !zero(line[6:]) {
		return layer{}, fmt.Errorf("capacity %d, rate %v, %d items in %d bits", line[3], rate, line[5], shape.Bits)
	}
	l := layer{items: line[5]}
	l.base = base{hasher: hasher, shape: shape, capacity: line[3], rate: rate}
	return l, nil
}

// possibleLayer reports whether a Scalable makes such layers. The next layer is
// sized from the capacity and the rate of this one, so a small file with large
// claims would take much memory when keys are added. A tenth is left for models
// that are more exact than the one a layer was sized by.
func possibleLayer(shape sizing.Shape, capacity uint64, rate float64) bool {
	return capacity >= 1 && rate >= taperedShare(minScalableRate, maxLayers) && rate <= maxLayerRate &&
		shape.Rate(float64(capacity)) <= 1.1*rate
}

func zero(words []uint64) bool {
	return !slices.ContainsFunc(words, func(w uint64) bool { return w != 0 })
}

// UnmarshalBinary replaces f by the filter that data encodes, see
// Filter.UnmarshalBinary. Layers to come are placed by the Alloc that f was
// made with.
func (f *Scalable) UnmarshalBinary(data []byte) error {
	return envelope.Unmarshal("bloom", data, f.hasher, f.load)
}

func (f *Scalable) load(given hashing.Hasher, from *envelope.Source) error {
	err := f.layered.load(given, from)
	if err == nil {
		f.settle()
	}
	return err
}

func (f *layered) load(given hashing.Hasher, from *envelope.Source) error {
	var got layered
	h, words, err := from.Words(func(h envelope.Header) (err error) {
		got, err = parseLayered(h, given)
		return err
	})
	if err == nil {
		err = got.parseLayers(h, words)
	}
	if err == nil {
		*f = got
	}
	return err
}
