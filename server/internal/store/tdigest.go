package store

// Records of TDIGESTs.

import (
	"encoding/binary"
	"math"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/wire"
)

// TDigestAdd adds values, all or none: see AppendValue.
type TDigestAdd struct{ Values []byte }

func (*TDigestAdd) op() Op                            { return OpTDigestAdd }
func (o *TDigestAdd) fields(c coder, r *Record) coder { return c.target(r).bytes(&o.Values) }

func (o *TDigestAdd) append(b []byte, r *Record) []byte {
	return wire.AppendBytes(appendTarget(b, r), o.Values)
}

// valueBytes is how long a value is in TDigestAdd.
const valueBytes = 8

// AppendValue appends a value to the Values of TDigestAdd.
func AppendValue(b []byte, v float64) []byte {
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
}

func (o *TDigestAdd) change(_ *State, p *contents.Part, _ *Record, res *Result) (grown int64) {
	t := p.TDigest()
	before := t.Bytes()
	if !res.prepared(p) {
		res.Err = o.add(t)
	}
	res.Changed = res.Err == nil
	return int64(t.Bytes()) - int64(before)
}

func (o *TDigestAdd) add(t *redisbloom.TDigest) error {
	const most = 64
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
	return math.Float64frombits(binary.LittleEndian.Uint64(b[valueBytes*i:]))
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

func (o *TDigestChunk) change(_ *State, p *contents.Part, _ *Record, res *Result) (grown int64) {
	t := p.TDigest()
	before := t.Bytes()
	res.Err = t.LoadNodes(o.Nodes, o.Waiting)
	res.Changed = res.Err == nil
	return int64(t.Bytes()) - int64(before)
}

// TDigestBegin forgets all values.
type TDigestBegin struct{ Header []byte } // the new header, or nothing

func (*TDigestBegin) op() Op                            { return OpTDigestBegin }
func (o *TDigestBegin) fields(c coder, r *Record) coder { return c.target(r).bytes(&o.Header) }

func (o *TDigestBegin) change(_ *State, p *contents.Part, _ *Record, res *Result) (grown int64) {
	t := p.TDigest()
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
	Ready *contents.ReadyDigest
}

func (*TDigestCompress) op() Op                          { return OpCompress }
func (*TDigestCompress) fields(c coder, r *Record) coder { return c.target(r) }

func (o *TDigestCompress) change(_ *State, p *contents.Part, _ *Record, res *Result) (grown int64) {
	t := p.TDigest()
	if o.Ready != nil && o.Ready.Version != p.Changes() {
		res.Err = ErrCondition
		return 0
	}
	before := t.Bytes()
	if res.Changed = !t.Compressed(); o.Ready != nil {
		t.Swap(o.Ready.Digest)
	}
	if !res.prepared(p) {
		t.Compress()
	}
	return int64(t.Bytes()) - int64(before)
}

// Prepare does outside of the lock of a part what would take long under it: a large digest that a record compresses is found
// beside it, and the record takes that. Nobody else changes the part until then: this is for nodes of a cluster, each of which
// has all records of a part in one order. Conclude has to follow when the record was applied.
func (s *State) Prepare(r *Record, p *contents.Part, res *Result) {
	var change func(*redisbloom.TDigest) error
	more := 0
	switch o := r.Body.(type) {
	case *TDigestAdd:
		change, more = o.add, len(o.Values)/valueBytes
	case *TDigestCompress:
		change = func(t *redisbloom.TDigest) error { t.Compress(); return nil }
	default:
		return
	}
	if _, due := p.LargeDigest(more); due {
		res.ready = s.ReadyDigest(p, change)
	}
}

// Conclude gives back what Prepare has made.
func (s *State) Conclude(res *Result) {
	s.DropDigest(res.ready)
	res.ready = nil
}

// prepared has a digest take what Prepare has made, and reports whether there is that.
func (res *Result) prepared(p *contents.Part) bool {
	if res.ready == nil || res.ready.Version != p.Changes() {
		return false
	}
	p.TDigest().Swap(res.ready.Digest)
	return true
}
