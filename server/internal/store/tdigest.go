package store

// TDIGEST as contents of a part.

import (
	"encoding/binary"
	"math"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/memory"
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/catalog"
)

// tdigest is a TDIGEST as contents. It is one pointer: an interface holds it
// without an allocation.
type tdigest struct{ *redisbloom.TDigest }

var (
	_ Contents = tdigest{}
	_ Detailed = tdigest{}
)

// TDigest returns the TDIGEST of a part, nil if it is of another kind. It belongs
// to the lock of p.
func (p *Part) TDigest() *redisbloom.TDigest {
	c, _ := p.contents.(tdigest)
	return c.TDigest
}

func (tdigest) Kind() catalog.Kind { return catalog.TDigest }

// Growth returns 0: there is room for all nodes from the beginning.
func (tdigest) Growth(int) (most uint64, sure bool) { return 0, true }

func (t tdigest) Freeze() (Frozen, error) { return t.TDigest.Freeze() }

func (t tdigest) Stats() bloomery.Stats {
	s := t.TDigest.Stats()
	nodes := s.MergedNodes + s.UnmergedNodes
	return bloomery.Stats{
		Kind: "tdigest", Items: uint64(t.Observations()), Exact: true, Bits: 128 * uint64(s.Capacity), Bytes: s.Bytes,
		Saturation: float64(nodes) / float64(s.Capacity),
	}
}

// Details shows the compression and the nodes.
func (t tdigest) Details() []Detail {
	s := t.TDigest.Stats()
	return []Detail{
		{Name: "compression", Whole: s.Compression},
		{Name: "capacity_nodes", Whole: int64(s.Capacity)},
		{Name: "merged_nodes", Whole: int64(s.MergedNodes)},
		{Name: "unmerged_nodes", Whole: int64(s.UnmergedNodes)},
		{Name: "compressions", Whole: s.Compressions},
	}
}

// AppendHeader appends all of the digest: it has no chunks.
func (t tdigest) AppendHeader(b []byte) []byte {
	b, _ = t.AppendBinary(b) // there is no error but for a digest that was never made
	return b
}

func (tdigest) ScanDump(int64) (next int64, chunk []byte) { return 0, nil }

// TDigestAdd adds values, all or none: see AppendValue.
type TDigestAdd struct{ Values []byte }

func (*TDigestAdd) op() Op                            { return OpTDigestAdd }
func (o *TDigestAdd) fields(c coder, r *Record) coder { return c.target(r).bytes(&o.Values) }

// AppendValue appends a value to the Values of TDigestAdd.
func AppendValue(b []byte, v float64) []byte {
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
}

func (o *TDigestAdd) change(_ *State, p *Part, _ *Record, res *Result) (grown int64) {
	t := p.contents.(tdigest)
	before := t.Bytes()
	res.Err = o.add(t)
	res.Changed = res.Err == nil
	return int64(t.Bytes()) - int64(before)
}

func (o *TDigestAdd) add(t tdigest) error {
	const valueBytes, most = 8, 256
	n := len(o.Values) / valueBytes
	if len(o.Values)%valueBytes != 0 {
		return errPayload(o)
	}
	if int64(n) > math.MaxInt64-t.Observations() {
		return bloomery.ErrFull
	}
	for i := range n {
		if v := valueAt(o.Values, i); v-v != 0 { // NaN or infinite
			return errPayload(o)
		}
	}
	var values [most]float64
	for at := 0; at < n; at += most {
		part := values[:min(most, n-at)]
		for i := range part {
			part[i] = valueAt(o.Values, at+i)
		}
		if err := t.Add(part...); err != nil {
			return err
		}
	}
	return nil
}

func valueAt(b []byte, i int) float64 {
	return math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
}

// TDigestChunk adds nodes.
type TDigestChunk struct {
	Nodes   []byte
	Waiting bool // they wait to be merged
}

func (*TDigestChunk) op() Op { return OpTDigestChunk }
func (o *TDigestChunk) fields(c coder, r *Record) coder {
	return c.bool(&o.Waiting).target(r).bytes(&o.Nodes)
}

func (o *TDigestChunk) change(_ *State, p *Part, _ *Record, res *Result) (grown int64) {
	t := p.contents.(tdigest)
	before := t.Bytes()
	res.Err = t.LoadNodes(o.Nodes, o.Waiting)
	res.Changed = res.Err == nil
	return int64(t.Bytes()) - int64(before)
}

// TDigestBegin forgets all values.
type TDigestBegin struct{ Header []byte } // the new header, or nothing

func (*TDigestBegin) op() Op                            { return OpTDigestBegin }
func (o *TDigestBegin) fields(c coder, r *Record) coder { return c.target(r).bytes(&o.Header) }

func (o *TDigestBegin) change(_ *State, p *Part, _ *Record, res *Result) (grown int64) {
	t := p.contents.(tdigest)
	before := t.Bytes()
	if len(o.Header) == 0 {
		t.Reset()
	} else {
		res.Err = t.Begin(o.Header)
	}
	res.Changed = res.Err == nil
	return int64(t.Bytes()) - int64(before)
}

// TDigestCompress compresses a TDIGEST.
type TDigestCompress struct {
	// Ready is taken instead of compressing, if it is not nil. The error is ErrCondition
	// if the digest has changed. It is not encoded.
	Ready *ReadyDigest
}

func (*TDigestCompress) op() Op                          { return OpCompress }
func (*TDigestCompress) fields(c coder, r *Record) coder { return c.target(r) }

func (o *TDigestCompress) change(_ *State, p *Part, _ *Record, res *Result) (grown int64) {
	t := p.contents.(tdigest)
	if o.Ready != nil && o.Ready.Version != p.version {
		res.Err = ErrCondition
		return 0
	}
	before := t.Bytes()
	if res.Changed = !t.Compressed(); o.Ready != nil {
		*t.TDigest, *o.Ready.Digest = *o.Ready.Digest, *t.TDigest
	}
	t.Compress()
	return int64(t.Bytes()) - int64(before)
}

// largeDigest is from how many nodes on a digest is compressed outside of locks.
const largeDigest = 1 << 14

// ReadyDigest is a digest as TDigestCompress leaves it, if the part has the version that it
// was copied from. The record then takes it instead of compressing.
type ReadyDigest struct {
	Version uint64
	Digest  *redisbloom.TDigest
}

// LargeDigest reports whether the digest of a part, which needs so many more nodes, takes
// long to compress, and whether that is to be done now: it is not compressed, or full.
func (p *Part) LargeDigest(more int) (large, due bool) {
	if p.Run() == maxRun {
		return false, false
	}
	p.RLock()
	defer p.RUnlock()
	t := p.TDigest()
	if p.Gone() || t == nil {
		return false, false
	}
	s := t.Stats()
	if more > 0 { // one that is full when it is compressed is halved, which takes little
		return true, s.UnmergedNodes > 0 && s.MergedNodes+s.UnmergedNodes+more >= s.Capacity
	}
	return true, !t.Compressed()
}

// NewDigest returns an empty digest in the memory of s.
func (s *State) NewDigest(p redisbloom.TDigestParams) (*redisbloom.TDigest, error) {
	p.Memory = s.memory
	return redisbloom.NewTDigest(p)
}

func tdigestBytes(header []byte) (uint64, error) {
	p, err := redisbloom.ParseTDigestHeader(header)
	if err != nil {
		return 0, err
	}
	return p.Bytes()
}

func newTDigest(header []byte, m *memory.Arena) (Contents, error) {
	p, err := redisbloom.ParseTDigestHeader(header)
	if err != nil {
		return nil, err
	}
	p.Memory = m
	t, err := redisbloom.NewTDigest(p)
	if err != nil {
		return nil, err
	}
	return tdigest{t}, t.Begin(header)
}

// tdigestLoader is a Loader of a TDIGEST.
type tdigestLoader struct {
	*redisbloom.Loader[*redisbloom.TDigest]
}

func loadTDigest(first []byte, size int64, m *memory.Arena) (Loader, error) {
	l, err := redisbloom.NewTDigestLoader(first, size, m)
	return tdigestLoader{l}, err
}

// Done makes room for all nodes, so that the digest takes as much memory as
// before.
func (l tdigestLoader) Done() (Contents, error) {
	t, err := l.Loader.Done()
	if err != nil {
		return nil, err
	}
	return tdigest{t}, t.Add()
}
