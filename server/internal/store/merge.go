package store

// Merging sketches.

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/wire"
)

// A merge reads several parts and changes others, so it is a record of the
// catalogue: it locks all of them, in the order of their ids, until the record is
// in the log. A replay may meet sources of a later time, in a snapshot of their
// own: so the log gets what the merge did, part by part.

// merged is an entry that a merge has to do with.
type merged struct {
	entry *catalog.Entry
	part  *contents.Part
}

// lockAll finds the parts of a kind that have these names, and locks them. The
// error is ErrMissing or ErrType.
func (s *State) lockAll(names [][]byte, kind catalog.Kind, at int64, res *Result) ([]merged, error) {
	all := make([]merged, len(names))
	for i, name := range names {
		e := s.Names.Get(name)
		if e == nil || e.Expired(at) {
			return nil, ErrMissing
		}
		if e.Kind != kind || contents.PartOf(e).Void() {
			return nil, contents.ErrType
		}
		all[i] = merged{e, contents.PartOf(e)}
	}
	hold(all, res)
	return all, nil
}

// hold locks parts until the result is released.
func hold(all []merged, res *Result) {
	order := slices.Clone(all)
	slices.SortFunc(order, func(a, b merged) int { return cmp.Compare(a.entry.ID, b.entry.ID) })
	for i, m := range order {
		if i == 0 || m.part != order[i-1].part {
			m.part.Lock()
			res.held = append(res.held, m.part)
		}
	}
}

// Merge is the body of a record that merges sketches. A log never holds one: what it
// did is written as records of parts.
type Merge interface {
	Body
	// Parts returns the name of the destination and those of the sources.
	Parts() (name []byte, sources [][]byte)
}

// CountMinMerge overwrites a CMS by the weighted sum of others.
type CountMinMerge struct {
	Name    []byte
	Sources [][]byte
	Weights []int64 // one for each source
}

func (*CountMinMerge) op() Op            { return OpCountMinMerge }
func (o *CountMinMerge) newName() []byte { return o.Name }
func (o *CountMinMerge) weight() int     { return len(o.Sources) }

// Parts implements Merge.
func (o *CountMinMerge) Parts() (name []byte, sources [][]byte) { return o.Name, o.Sources }

func (o *CountMinMerge) fields(c coder, r *Record) coder {
	var weights []byte
	for _, w := range o.Weights {
		weights = binary.AppendVarint(weights, w)
	}
	if c = c.at(r).bytes(&o.Name).names(&o.Sources).bytes(&weights); c.does == reads {
		o.Weights = o.Weights[:0]
		for d := (wire.Reader{Rest: weights}); len(d.Rest) > 0 && !c.bad; c.bad = d.Bad {
			o.Weights = append(o.Weights, d.Varint())
		}
	}
	return c
}

func (*CountMinMerge) effect(f *Effect, _ *Record, res *Result) { f.puts(res.effects) }

func (o *CountMinMerge) apply(s *State, r *Record, res *Result) {
	if len(o.Weights) != len(o.Sources) {
		res.Err = errPayload(o)
		return
	}
	all, err := s.lockAll(append([][]byte{o.Name}, o.Sources...), catalog.CountMin, r.At, res)
	if err != nil {
		res.Err = err
		return
	}
	sources := make([]*redisbloom.CountMin, len(o.Sources))
	for i := range sources {
		sources[i] = all[i+1].part.CountMin()
	}
	target := all[0].part
	c := target.CountMin()
	if res.Err = c.Merge(sources, o.Weights); res.Err != nil {
		return
	}
	res.Changed = true
	target.Raise()
	position := int64(1)
	for cells := range slices.Chunk(c.Dump().Cells, maxPiece) {
		position += int64(len(cells))
		res.also(r, all[0].entry.ID, &CountMinChunk{Position: position, Cells: cells, Total: c.Total() + 1})
	}
}

// also notes what a record did to a filter besides, for the log.
func (res *Result) also(r *Record, id uint64, body Body) {
	res.effects = append(res.effects, Record{ID: id, Origin: r.Origin, Body: body})
}

// TDigestMerge replaces a TDIGEST by the union of others, or makes it.
type TDigestMerge struct {
	Name        []byte
	Sources     [][]byte
	Compression int64 // 0 for that of the destination, or the largest of the sources
	Override    bool  // leave out what the destination had
}

func (*TDigestMerge) op() Op            { return OpTDigestMerge }
func (o *TDigestMerge) newName() []byte { return o.Name }
func (o *TDigestMerge) weight() int     { return len(o.Sources) }

// Parts implements Merge.
func (o *TDigestMerge) Parts() (name []byte, sources [][]byte) { return o.Name, o.Sources }
func (o *TDigestMerge) fields(c coder, r *Record) coder {
	return c.bool(&o.Override).at(r).bytes(&o.Name).names(&o.Sources).varint(&o.Compression)
}
func (*TDigestMerge) effect(f *Effect, _ *Record, res *Result) { f.puts(res.effects) }

func (o *TDigestMerge) apply(s *State, r *Record, res *Result) {
	target := s.Names.Get(o.Name)
	if target != nil && target.Expired(r.At) {
		res.effects = append(res.effects, Record{At: r.At, Origin: r.Origin, Body: &Evict{IDs: []uint64{target.ID}}})
		res.Changed = true
		s.drop(target)
		target = nil
	}
	names := o.Sources
	if target != nil {
		names = append([][]byte{o.Name}, names...)
	}
	all, err := s.lockAll(names, catalog.TDigest, r.At, res)
	if err != nil {
		res.Err = err
		return
	}
	sources := all
	if target != nil && o.Override {
		sources = all[1:]
	}
	for _, m := range sources {
		if t := m.part.TDigest(); !t.Compressed() {
			t.Compress()
			m.part.Raise()
			res.also(r, m.entry.ID, &TDigestCompress{})
			res.Changed = true
		}
	}
	digest, err := s.union(sources, o.compression(target, all))
	if err != nil {
		res.Err = err
		return
	}
	res.Changed = true
	header := digest.AppendHeader(nil)
	if target == nil {
		p := contents.NewPart(contents.Digest(digest))
		s.bytes.Add(NewCost(o.Name, p.Bytes()))
		p.TryLock() // nobody else has it
		target = s.insertPart(o.Name, catalog.TDigest, p)
		res.made, res.Entry = append(res.made[:0], p), target
		res.effects = append(res.effects, Record{At: r.At, Origin: r.Origin, Body: &Make{As: OpTDigest, Name: o.Name, Header: header}})
	} else {
		p := all[0].part
		old := p.TDigest()
		s.bytes.Add(int64(digest.Bytes()) - int64(old.Bytes()))
		old.Release()
		*old = *digest
		p.Measure()
		p.Raise()
		res.also(r, target.ID, &TDigestBegin{header})
	}
	for _, nodes := range NodesOf(digest) {
		res.also(r, target.ID, nodes)
	}
}

// compression returns the compression of a union: as asked for, else that of
// the destination unless it is left out, else the largest of the sources.
func (o *TDigestMerge) compression(target *catalog.Entry, all []merged) int64 {
	if o.Compression > 0 {
		return o.Compression
	}
	if target != nil && !o.Override {
		return all[0].part.TDigest().Stats().Compression
	}
	if target != nil {
		all = all[1:]
	}
	most := int64(0)
	for _, m := range all {
		most = max(most, m.part.TDigest().Stats().Compression)
	}
	return most
}

// union returns a digest with the nodes of all sources, which are compressed. A
// source may be there twice.
func (s *State) union(sources []merged, compression int64) (*redisbloom.TDigest, error) {
	digest, err := s.NewDigest(redisbloom.TDigestParams{Compression: compression})
	if err != nil {
		return nil, err
	}
	for _, m := range sources {
		if err := digest.Merge(m.part.TDigest()); err != nil {
			digest.Release()
			return nil, err
		}
	}
	return digest, nil
}

// NodesOf returns records that add the nodes of a digest.
func NodesOf(digest *redisbloom.TDigest) (list []*TDigestChunk) {
	const most = maxPiece / 16 * 16 // whole nodes
	mergedNodes, waiting := digest.Nodes()
	for nodes := range slices.Chunk(mergedNodes, most) {
		list = append(list, &TDigestChunk{Nodes: nodes})
	}
	for nodes := range slices.Chunk(waiting, most) {
		list = append(list, &TDigestChunk{Nodes: nodes, Waiting: true})
	}
	return list
}
