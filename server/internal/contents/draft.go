package contents

// The contents of a filter that is being rebuilt.

import (
	"encoding"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/wire"
)

// Draft is the contents of a part of a shadow: a filter, or the hashes from which one
// of a static kind will be built, and what is to be known of the rebuild.
type Draft struct {
	main    uint64 // the filter whose place it takes, 0 if there is none
	name    string // the name that it will have if there is none
	fed     uint64 // items of FEED
	added   uint64 // items that were added to the filter meanwhile, and were new here
	missed  uint64 // items that were deleted from the filter and are here
	broken  bool
	plan    *Shared
	inner   *Filter // nil for a static kind
	rate    float64 // of a static kind
	limit   uint64  // most hashes of a static kind
	chunks  [][]uint64
	hashes  uint64 // in chunks
	enlarge uint64 // bytes of chunks

	sealed   uint64    // the attempt that has sealed it, 0 for none: see Seal
	building *building // what it becomes, nil if it is not sealed, or was sealed before the start
}

var _ Contents = (*Draft)(nil)

// chunkHashes is how many hashes a draft makes room for at once.
const chunkHashes = 8192

// Kind implements Contents.
func (*Draft) Kind() catalog.Kind { return catalog.Filter }

// Stats returns those of the filter; of hashes their number, those that are there
// twice included.
func (d *Draft) Stats() bloomery.Stats {
	if d.inner != nil {
		return d.inner.Stats()
	}
	return bloomery.Stats{Kind: d.plan.Kind.Name, Items: d.hashes, Capacity: d.limit / limitFactor, Bytes: d.enlarge}
}

// Bytes implements Contents.
func (d *Draft) Bytes() uint64 {
	n := d.plan.beside() + uint64(len(d.name))
	if d.inner != nil {
		return n + d.inner.Bytes()
	}
	return n + d.enlarge
}

// Growth implements Contents.
func (d *Draft) Growth(n int) (most uint64, sure bool) {
	if d.inner != nil {
		return d.inner.Growth(n)
	}
	return d.growth(n), true
}

// growth returns the bytes of chunks that n more hashes need.
func (d *Draft) growth(n int) uint64 {
	have := uint64(len(d.chunks)) * chunkHashes
	if need := d.hashes + uint64(n); need > have {
		return (need - have + chunkHashes - 1) / chunkHashes * chunkHashes * 8
	}
	return 0
}

// put adds hashes.
func (d *Draft) put(hashes []uint64, room uint64, res *Outcome) (grown int64) {
	if d.inner != nil {
		return d.inner.Put(hashes, room, res)
	}
	res.Size(len(hashes))
	clear(res.Bools)
	need := d.growth(len(hashes))
	switch {
	case need > room:
		res.Err = ErrRoom
		return 0
	case d.hashes+uint64(len(hashes)) > d.limit:
		res.Err = bloomery.ErrFull
		return 0
	}
	for _, h := range hashes {
		if d.hashes == uint64(len(d.chunks))*chunkHashes {
			d.chunks = append(d.chunks, make([]uint64, 0, chunkHashes))
		}
		last := len(d.chunks) - 1
		d.chunks[last] = append(d.chunks[last], h)
		d.hashes++
	}
	d.enlarge += need
	res.Done, res.All, res.Changed = len(hashes), true, len(hashes) > 0
	return int64(need)
}

// Put is Add for a filter that is a shadow, or was one: it asks first whether there is room.
func (c *Filter) Put(hashes []uint64, room uint64, res *Outcome) (grown int64) {
	if most, _ := c.Growth(len(hashes)); most > room {
		res.Err = ErrRoom
		return 0
	}
	return c.Add(hashes, room, res)
}

// Feed adds hashes that were fed.
func (d *Draft) Feed(hashes []uint64, room uint64, res *Outcome) (grown int64) {
	grown = d.put(hashes, room, res)
	d.fed += uint64(res.Done)
	res.All, res.Changed = true, res.Done > 0
	return grown
}

// Mirror adds hashes that were added to the filter.
func (d *Draft) Mirror(hashes []uint64, room uint64, res *Outcome) (grown int64) {
	grown = d.put(hashes, room, res)
	for i := range res.Done {
		if res.Kept(i) {
			d.added++
		}
	}
	return grown
}

// Miss counts items that were deleted from the filter alone.
func (d *Draft) Miss(items uint64) { d.missed += items }

// Break notes that items are lacking, and reports whether that is new.
func (d *Draft) Break() (first bool) {
	first = !d.broken
	d.broken = true
	return first
}

// Broken reports whether items are lacking.
func (d *Draft) Broken() bool { return d.broken }

// For returns the filter whose place the shadow takes, 0 if there is none, and the name that it will
// have then.
func (d *Draft) For() (main uint64, name string) { return d.main, d.name }

// Shared returns the plan of the shadow with its kind and its hasher.
func (d *Draft) Shared() *Shared { return d.plan }

// Ready reports whether the draft can become the filter that it is: it is one, or is being built.
func (d *Draft) Ready() bool { return d.inner != nil || d.sealed != 0 }

// all returns a copy of the hashes of a static kind.
func (d *Draft) all() []uint64 {
	list := make([]uint64, 0, d.hashes)
	for _, c := range d.chunks {
		list = append(list, c...)
	}
	return list
}

// Release implements Contents.
func (d *Draft) Release() {
	if d.inner != nil {
		d.inner.Release()
	}
	d.chunks, d.hashes, d.enlarge = nil, 0, 0
	d.unseal()
}

// AppendHeader appends the plan and what is to be known of the rebuild.
func (d *Draft) AppendHeader(b []byte) []byte { return d.appendInfo(AppendPlan(b, &d.plan.Plan)) }

func (d *Draft) appendInfo(b []byte) []byte {
	for _, v := range []uint64{d.main, d.fed, d.added, d.missed, d.limit, math.Float64bits(d.rate)} {
		b = binary.AppendUvarint(b, v)
	}
	b = wire.AppendBytes(b, d.name)
	flags := byte(0)
	if d.broken {
		flags |= draftBroken
	}
	if d.inner == nil {
		flags |= draftStatic
	}
	b = append(b, flags)
	if d.inner == nil {
		b = appendHash(b, d.plan.Kind, d.plan.Hasher)
	}
	return b
}

const (
	draftBroken = 1 << iota
	draftStatic
)

// appendKeys appends the encoding of the filter, or the hashes.
func (d *Draft) appendKeys(b []byte) ([]byte, error) {
	if d.inner != nil {
		return d.inner.encode(b)
	}
	for _, c := range d.chunks {
		for _, h := range c {
			b = binary.LittleEndian.AppendUint64(b, h)
		}
	}
	return b, nil
}

// ScanDump returns everything as one chunk.
func (d *Draft) ScanDump(iter int64) (next int64, chunk []byte) {
	data, err := d.appendKeys(nil)
	if err != nil || iter < 1 || iter > int64(len(data)) {
		return 0, nil
	}
	return int64(len(data)) + 1, data[iter-1:]
}

// Freeze implements Contents.
func (d *Draft) Freeze() (Frozen, error) { return d.freeze(0) }

func (d *Draft) freeze(made uint32) (Frozen, error) {
	b := appendAge(nil, &d.plan.Plan, made)
	if d.sealed == 0 {
		b = append(b, formDraft)
	} else {
		b = binary.AppendUvarint(append(b, formSealed), d.sealed)
	}
	if b = d.appendInfo(b); d.inner != nil {
		return d.inner.freezeBehind(b)
	}
	return frozenApart{&frozenPieces{frozenStream: newFrozenStream(b, hashList(slices.Clone(d.chunks)))}}, nil // hashes are only appended
}

// redraft reads what freeze has written behind the form.
func (s *Supply) redraft(p Plan, sealed uint64, in *wire.Reader) (Contents, error) {
	d := &Draft{sealed: sealed, main: in.Uvarint(), fed: in.Uvarint(), added: in.Uvarint(), missed: in.Uvarint(), limit: in.Uvarint()}
	d.rate = math.Float64frombits(in.Uvarint())
	d.name = string(in.Bytes())
	flags := in.Byte()
	d.broken = flags&draftBroken != 0
	if flags&draftStatic == 0 {
		if in.Bad {
			return nil, corrupt("copy of a shadow")
		}
		c, err := s.openContents(p, in.Rest)
		if err != nil {
			return nil, err
		}
		d.inner, d.plan = c, c.plan.Load()
		return d, nil
	}
	plan, err := s.staticPlan(p, in)
	if err != nil {
		return nil, err
	}
	d.plan = plan
	if len(in.Rest)%8 != 0 || uint64(len(in.Rest)/8) > d.limit {
		return nil, corrupt("copy of a shadow")
	}
	for rest := in.Rest; len(rest) > 0; {
		n := min(len(rest)/8, chunkHashes)
		chunk := make([]uint64, n, chunkHashes)
		for i := range chunk {
			chunk[i] = binary.LittleEndian.Uint64(rest[8*i:])
		}
		d.chunks, d.hashes = append(d.chunks, chunk), d.hashes+uint64(n)
		rest = rest[8*n:]
	}
	d.enlarge = uint64(len(d.chunks)) * chunkHashes * 8
	return d, nil
}

// staticPlan reads kind and hash of a static filter that is not built yet.
func (s *Supply) staticPlan(p Plan, in *wire.Reader) (*Shared, error) {
	v, err := s.readHash(p, in)
	if err == nil && (v.Kind.Build == nil || v.Kind.Features.Get || v.Kind.Features.Out) {
		return nil, fmt.Errorf("store: draft: %w: kind %s is not one that is built", bloomery.ErrVersion, v.Kind.Name)
	}
	return v, err
}

// limitFactor is how many hashes a draft of a static kind keeps for each key that it
// was made for: a key that is fed and added is there twice.
const limitFactor = 2

// AppendStatic appends the Header of a record that opens a shadow of a static kind, for
// so many keys in each part.
func AppendStatic(b []byte, p *Plan, kind *codec.Kind, h hashing.Hasher, keys uint64, rate float64) []byte {
	b = AppendLoad(append(b, shadowStatic), p, kind, h)
	b = binary.AppendUvarint(b, keys*limitFactor)
	return binary.AppendUvarint(b, math.Float64bits(rate))
}

// AppendShadow appends the Header of a record that opens a shadow of another kind: it
// is made as AppendCreation says.
func AppendShadow(b []byte, p *Plan, outline []byte) []byte {
	return AppendCreation(append(b, shadowFilter), p, outline)
}

// The first byte of the Header of ShadowOpen.
const (
	shadowFilter = 0
	shadowStatic = 1
)

// ShadowBytes returns the memory of a shadow that AppendShadow or AppendStatic has described, and that
// will make a name.
func ShadowBytes(header, name []byte) (uint64, error) {
	d := wire.Reader{Rest: header}
	form := d.Byte()
	switch {
	case d.Bad || form > shadowStatic:
		return 0, corrupt("shadow")
	case form == shadowFilter:
		p, outline, err := parseCreation(d.Rest)
		return (outline.Bytes() + 2*p.beside() + p.newsBytes() + uint64(len(name))) << p.Parts, err
	}
	p, _, err := CutPlan(d.Rest)
	return (p.beside() + uint64(len(name))) << p.Parts, err
}

// Drafts makes the parts of a shadow that AppendShadow or AppendStatic has described, which will take the
// place of a filter, or make a name.
func (s *Supply) Drafts(header []byte, main uint64, name string, here Here) ([]Contents, error) {
	in := wire.Reader{Rest: header}
	blank := Draft{main: main, name: name}
	if form := in.Byte(); form == shadowFilter {
		parts, err := newFilter(s, in.Rest, here)
		for i, c := range parts {
			if c, held := c.(*Filter); held {
				d := blank
				d.inner, d.plan = c, c.plan.Load()
				parts[i] = &d
			}
		}
		return parts, err
	}
	p, rest, err := CutPlan(in.Rest)
	if err != nil {
		return nil, err
	}
	in.Rest = rest
	if blank.plan, err = s.staticPlan(p, &in); err != nil {
		return nil, err
	}
	blank.limit, blank.rate = in.Uvarint(), math.Float64frombits(in.Uvarint())
	if in.Bad {
		return nil, corrupt("shadow")
	}
	parts := make([]Contents, 1<<p.Parts)
	for i := range parts {
		if !here(i, &p) {
			parts[i] = newElsewhere(catalog.Filter, blank.plan)
			continue
		}
		d := blank
		parts[i] = &d
	}
	return parts, nil
}

// encoded returns the encoding of a filter.
func encoded(f bloomery.Hashed) ([]byte, error) {
	m, ok := f.(encoding.BinaryMarshaler)
	if !ok {
		return nil, fmt.Errorf("store: encode: %w: a %T has no encoding", bloomery.ErrIncompatible, f)
	}
	return m.MarshalBinary()
}
