package redisbloom

import (
	"bytes"
	"encoding"
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/memory"
)

// The binary form of a TDigest:
//
//	header   compression i64 · least f64 · largest f64 · merged nodes u64 ·
//	         waiting nodes u64 · compressions i64
//	nodes    mean f64 · weight i64, the merged ones first
const (
	tdigestMagic       = "blmrTD"
	tdigestHeaderBytes = 48
)

var (
	_ encoding.BinaryAppender    = (*TDigest)(nil)
	_ encoding.BinaryMarshaler   = (*TDigest)(nil)
	_ encoding.BinaryUnmarshaler = (*TDigest)(nil)
)

// TDigestDump is a TDigest as RedisBloom dumps it, field by field in the order
// of the dump.
type TDigestDump struct {
	Compression, Min, Max        float64
	Capacity, Merged, Unmerged   uint64
	Compressions                 uint64
	MergedWeight, UnmergedWeight float64
	// Means and Weights are those of the merged nodes.
	Means, Weights []float64
}

// Dump compresses the digest and returns it as RedisBloom dumps it.
func (t *TDigest) Dump() TDigestDump {
	t.Compress()
	d := TDigestDump{
		Compression: float64(t.compression), Min: t.min, Max: t.max,
		Capacity: uint64(t.capacity()), Merged: uint64(t.merged), Unmerged: uint64(t.waiting),
		Compressions: uint64(t.compressions),
		MergedWeight: float64(t.mergedSum), UnmergedWeight: float64(t.waitingSum),
		Means: make([]float64, t.merged), Weights: make([]float64, t.merged),
	}
	for i := range t.merged {
		d.Means[i], d.Weights[i] = t.mean(i), t.size(i)
	}
	return d
}

// Bytes returns how much memory New would allocate, or its error. It allocates
// nothing.
func (d TDigestDump) Bytes() (uint64, error) {
	if !(d.Compression >= 1 && d.Compression < 1<<62) || d.Compression != math.Trunc(d.Compression) {
		return 0, errDigest("compression %v", d.Compression)
	}
	p := TDigestParams{Compression: int64(d.Compression)}
	total, err := p.Bytes()
	if err != nil {
		return 0, fmt.Errorf("redisbloom: load: %w: %w", bloomery.ErrCorrupt, err)
	}
	if d.Capacity != 6*uint64(p.Compression)+10 || d.Compressions > math.MaxInt64 {
		return 0, errDigest("capacity %d, %d compressions", d.Capacity, d.Compressions)
	}
	if d.Merged > d.Capacity || d.Merged != uint64(len(d.Means)) || d.Merged != uint64(len(d.Weights)) {
		return 0, errDigest("%d nodes, %d means, %d weights", d.Merged, len(d.Means), len(d.Weights))
	}
	// A dump is compressed: there is nothing that waits but a single value.
	if d.Unmerged != 0 && (d.Unmerged != 1 || d.Merged != 0) {
		return 0, errDigest("%d merged and %d unmerged nodes", d.Merged, d.Unmerged)
	}
	if d.UnmergedWeight != float64(d.Unmerged) {
		return 0, errDigest("weight %v of unmerged nodes", d.UnmergedWeight)
	}
	sum := int64(0)
	for _, w := range d.Weights {
		if !(w >= 1 && w < 1<<63) || w != math.Trunc(w) || int64(w) > math.MaxInt64-sum {
			return 0, errDigest("weight %v", w)
		}
		sum += int64(w)
	}
	// Beyond 2^53 weights are rounded one by one.
	if !(math.Abs(d.MergedWeight-float64(sum)) <= 1e-9*float64(sum)) {
		return 0, errDigest("weight %v instead of %d", d.MergedWeight, sum)
	}
	return total, nil
}

func errDigest(format string, args ...any) error {
	return fmt.Errorf("redisbloom: load: %w: %s", bloomery.ErrCorrupt, fmt.Sprintf(format, args...))
}

// New returns the digest that was dumped. A nil m means the Go heap. The error
// wraps bloomery.ErrCorrupt or bloomery.ErrTooLarge, or is that of Alloc.
//
// RedisBloom does not dump the only value of a digest, and loses it. Here it is
// known from Min.
func (d TDigestDump) New(m *memory.Arena) (*TDigest, error) {
	if _, err := d.Bytes(); err != nil {
		return nil, err
	}
	t, err := NewTDigest(TDigestParams{Compression: int64(d.Compression), Memory: m})
	if err != nil {
		return nil, err
	}
	t.merged = int(d.Merged)
	for i := range t.merged {
		t.nodes[2*i], t.nodes[2*i+1] = math.Float64bits(d.Means[i]), uint64(d.Weights[i])
		t.mergedSum += int64(d.Weights[i])
	}
	t.min, t.max, t.compressions = d.Min, d.Max, int64(d.Compressions)
	if d.Unmerged == 1 {
		t.nodes[0], t.nodes[1] = math.Float64bits(d.Min), 1
		t.waiting, t.waitingSum = 1, 1
	}
	return t, nil
}

// AppendHeader appends to dst the digest without its nodes: the header of the
// binary form, with no nodes announced.
func (t *TDigest) AppendHeader(dst []byte) []byte {
	empty := *t
	empty.merged, empty.waiting = 0, 0
	return append(dst, empty.prefix()[prefixBytes:]...)
}

// AppendTDigestHeader appends the header of an empty digest of p to dst: see
// [TDigest.Begin].
func AppendTDigestHeader(dst []byte, p TDigestParams) []byte {
	t := TDigest{compression: p.Compression, min: math.MaxFloat64, max: -math.MaxFloat64}
	return t.AppendHeader(dst)
}

// ParseTDigestHeader reads a header and returns the parameters of its digest. The
// error wraps bloomery.ErrCorrupt.
func ParseTDigestHeader(header []byte) (TDigestParams, error) {
	t, _, err := headerOnly(header, nil)
	if err != nil {
		return TDigestParams{}, err
	}
	return TDigestParams{Compression: t.compression}, nil
}

// headerOnly returns the digest of a header without nodes, and whether it has a
// single value, which is its least.
func headerOnly(header []byte, m *memory.Arena) (t *TDigest, single bool, err error) {
	if len(header) != tdigestHeaderBytes {
		return nil, false, errDigest("header of %d bytes", len(header))
	}
	empty := bytes.Clone(header)
	if single = binary.LittleEndian.Uint64(header[32:]) == 1; single {
		binary.LittleEndian.PutUint64(empty[32:], 0)
	}
	t, err = newTDigestOf(empty, 0, m)
	return t, single, err
}

// Begin replaces the digest by the one that a header describes. It has no nodes yet,
// or only a single value: LoadNodes adds the others. The error is that of NewTDigest
// or wraps bloomery.ErrCorrupt, and then nothing has changed.
func (t *TDigest) Begin(header []byte) error {
	n, single, err := headerOnly(header, t.memory)
	if err != nil {
		return err
	}
	if n.compression != t.compression {
		if err := n.reserve(n.capacity()); err != nil {
			return fmt.Errorf("redisbloom: load: %w", err)
		}
		t.leave()
	} else {
		t.Reset() // no fork reads its array then
		n.array, n.nodes, n.memory = t.array, t.nodes, t.memory
	}
	*t = *n
	if !single {
		return nil
	}
	if err := t.prepare(1); err != nil {
		return err
	}
	t.nodes[0], t.nodes[1] = math.Float64bits(t.min), 1
	t.waiting, t.waitingSum = 1, 1
	return nil
}

// LoadNodes adds nodes as they are, each a mean and a weight of eight bytes in
// little-endian order: merged ones, in the order of their means, or unmerged ones,
// which wait for a compression. Add merged ones first. The error wraps
// bloomery.ErrCorrupt, and then nothing has changed.
func (t *TDigest) LoadNodes(data []byte, waiting bool) error {
	n := len(data) / nodeBytes
	if len(data)%nodeBytes != 0 || n > t.capacity()-t.merged-t.waiting || !waiting && t.waiting > 0 {
		return errDigest("%d bytes of nodes", len(data))
	}
	if err := t.prepare(0); err != nil {
		return err
	}
	sum := int64(0)
	for i := range n {
		w := int64(binary.LittleEndian.Uint64(data[i*nodeBytes+8:]))
		if w < 1 || w > math.MaxInt64-sum-t.Observations() {
			return errDigest("weight %d", w)
		}
		sum += w
	}
	for i, at := 0, 2*(t.merged+t.waiting); i < n; i, at = i+1, at+2 {
		t.nodes[at] = binary.LittleEndian.Uint64(data[i*nodeBytes:])
		t.nodes[at+1] = binary.LittleEndian.Uint64(data[i*nodeBytes+8:])
	}
	if waiting {
		t.waiting, t.waitingSum = t.waiting+n, t.waitingSum+sum
	} else {
		t.merged, t.mergedSum = t.merged+n, t.mergedSum+sum
	}
	return nil
}

// Nodes returns the nodes as LoadNodes takes them.
func (t *TDigest) Nodes() (merged, waiting []byte) {
	all := t.appendNodes(nil)
	return all[:t.merged*nodeBytes], all[t.merged*nodeBytes:]
}

// AppendNodes appends the nodes from one to another to dst, as LoadNodes takes them; the
// merged ones come first.
func (t *TDigest) AppendNodes(dst []byte, from, to int) []byte {
	nodes := t.nodes[2*from : 2*min(to, t.merged+t.waiting)]
	dst = slices.Grow(dst, 8*len(nodes))
	for _, v := range nodes {
		dst = binary.LittleEndian.AppendUint64(dst, v)
	}
	return dst
}

// Header returns the header of the digest that was dumped, as [TDigest.Begin] takes
// it. The only value of a digest is in it; other nodes are not.
func (d TDigestDump) Header() []byte {
	t := TDigest{compression: int64(d.Compression), min: d.Min, max: d.Max, compressions: int64(d.Compressions)}
	h := t.AppendHeader(nil)
	binary.LittleEndian.PutUint64(h[32:], d.Unmerged)
	return h
}

// MarshalBinary returns the binary form of the digest. It does not compress it.
// The error wraps bloomery.ErrParameter for a zero TDigest; there is no other.
func (t *TDigest) MarshalBinary() ([]byte, error) { return t.AppendBinary(nil) }

// AppendBinary appends the binary form of the digest to dst. Its error is that
// of MarshalBinary.
func (t *TDigest) AppendBinary(dst []byte) ([]byte, error) {
	if t.compression == 0 {
		return dst, errZero("marshal", "TDigest")
	}
	return appendBinary(dst, t.prefix(), one(t.appendNodes(nil))), nil
}

// UnmarshalBinary replaces the digest by one in binary form, in the Arena that
// the digest was made with. Its error is that of DecodeTDigest, and then
// nothing has changed.
func (t *TDigest) UnmarshalBinary(data []byte) error {
	n, err := DecodeTDigest(data, t.memory)
	if err != nil {
		return err
	}
	t.Release()
	*t = *n
	return nil
}

// DecodeTDigest returns a digest in binary form. A nil m means the Go heap. The
// error wraps bloomery.ErrCorrupt, bloomery.ErrVersion or bloomery.ErrTooLarge,
// or is that of Alloc. It allocates memory for the nodes that data holds; the
// next Add does so for all that the digest may have.
func DecodeTDigest(data []byte, m *memory.Arena) (*TDigest, error) {
	header, rest, err := openBinary(tdigestMagic, data)
	if err != nil {
		return nil, err
	}
	t, err := newTDigestOf(header, uint64(len(rest)), m)
	if err != nil {
		return nil, err
	}
	if err := t.setNodes(rest); err != nil {
		t.Release()
		return nil, err
	}
	return t, nil
}

// NewTDigestLoader starts to load a digest: see [Loader].
func NewTDigestLoader(first []byte, size int64, m *memory.Arena) (*Loader[*TDigest], error) {
	var nodes []byte
	l, err := newLoader(tdigestMagic, first, size, func(header []byte, bytes uint64) (*TDigest, [][]byte, error) {
		t, err := newTDigestOf(header, bytes, m)
		if err != nil {
			return nil, nil, err
		}
		nodes = make([]byte, bytes)
		return t, [][]byte{nodes}, nil
	})
	if err != nil {
		return nil, err
	}
	l.finish = func() error { return l.filter.setNodes(nodes) }
	return l, nil
}

// Freeze begins a snapshot. It is that of a fork: several can be open, and what is read of it, and Close, need no
// exclusion. The error wraps bloomery.ErrParameter for a zero TDigest.
func (t *TDigest) Freeze() (*Frozen, error) {
	if t.compression == 0 {
		return nil, errZero("freeze", "TDigest")
	}
	var none *Frozen
	fork := t.Fork()
	z, err := freeze(&none, nil, t.prefix(), [][]byte{fork.nodesAsBytes()})
	z.end = fork.Release
	return z, err
}

// littleEndian reports whether nodes lie in memory as in the binary form.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// nodesAsBytes returns the nodes of a fork in binary form.
func (t *TDigest) nodesAsBytes() []byte {
	if !littleEndian {
		return t.appendNodes(nil)
	}
	return t.shared.array[:nodeBytes*(t.merged+t.waiting)]
}

// one returns an iterator over one array.
func one(a []byte) iter.Seq[[]byte] { return func(yield func([]byte) bool) { yield(a) } }

// prefix returns the binary form up to the nodes.
func (t *TDigest) prefix() []byte {
	le := binary.LittleEndian
	b := appendPrefix(make([]byte, 0, prefixBytes+tdigestHeaderBytes), tdigestMagic, tdigestHeaderBytes)
	b = le.AppendUint64(b, uint64(t.compression))
	b = le.AppendUint64(b, math.Float64bits(t.min))
	b = le.AppendUint64(b, math.Float64bits(t.max))
	b = le.AppendUint64(b, uint64(t.merged))
	b = le.AppendUint64(b, uint64(t.waiting))
	return le.AppendUint64(b, uint64(t.compressions))
}

// newTDigestOf returns the digest of a header, with memory for its nodes, which
// have so many bytes.
func newTDigestOf(header []byte, size uint64, m *memory.Arena) (*TDigest, error) {
	if len(header) != tdigestHeaderBytes {
		return nil, errDigest("header of %d bytes", len(header))
	}
	le := binary.LittleEndian
	t, err := newTDigest(TDigestParams{Compression: int64(le.Uint64(header)), Memory: m})
	if err != nil {
		return nil, fmt.Errorf("redisbloom: load: %w: %w", bloomery.ErrCorrupt, err)
	}
	t.min, t.max = math.Float64frombits(le.Uint64(header[8:])), math.Float64frombits(le.Uint64(header[16:]))
	merged, waiting := le.Uint64(header[24:]), le.Uint64(header[32:])
	t.compressions = int64(le.Uint64(header[40:]))
	most := uint64(t.capacity())
	if merged > most || waiting > most-merged || (merged+waiting)*nodeBytes != size || t.compressions < 0 {
		return nil, errDigest("%d merged and %d unmerged nodes in %d bytes", merged, waiting, size)
	}
	if size > 0 {
		if err := t.reserve(int(merged + waiting)); err != nil {
			return nil, fmt.Errorf("redisbloom: load: %w", err)
		}
	}
	t.merged, t.waiting = int(merged), int(waiting)
	return t, nil
}

// appendNodes appends the nodes to dst.
func (t *TDigest) appendNodes(dst []byte) []byte { return t.AppendNodes(dst, 0, t.merged+t.waiting) }

// setNodes reads what appendNodes wrote.
func (t *TDigest) setNodes(data []byte) error {
	sums := [2]int64{}
	for i := range t.merged + t.waiting {
		node := data[i*nodeBytes:]
		mean, weight := binary.LittleEndian.Uint64(node), int64(binary.LittleEndian.Uint64(node[8:]))
		if weight < 1 || weight > math.MaxInt64-sums[0]-sums[1] {
			return errDigest("weight %d", weight)
		}
		t.nodes[2*i], t.nodes[2*i+1] = mean, uint64(weight)
		part := 0
		if i >= t.merged {
			part = 1
		}
		sums[part] += weight
	}
	t.mergedSum, t.waitingSum = sums[0], sums[1]
	return nil
}
