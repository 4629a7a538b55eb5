package store

// Merging sketches.

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/catalog"
)

// Override as a flag of OpTDigestMerge leaves out what the destination had.
const Override = 1

// A merge reads several parts and changes others, so it is a record of the
// catalogue: it locks all of them, in the order of their ids, until the record is
// in the log. A replay may meet sources of a later time, in a snapshot of their
// own: so the log gets what the merge did, part by part.

// merged is an entry that a merge has to do with.
type merged struct {
	entry *catalog.Entry
	part  *Part
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
		if e.Kind != kind || PartOf(e).Void() {
			return nil, ErrType
		}
		all[i] = merged{e, PartOf(e)}
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

// mergeCountMins overwrites a CMS by the weighted sum of others.
func (s *State) mergeCountMins(r *Record, res *Result) {
	weights := make([]int64, len(r.Names))
	d := decoder{rest: r.Value}
	for i := range weights {
		weights[i] = d.varint()
	}
	if d.bad {
		res.Err = errPayload(r)
		return
	}
	all, err := s.lockAll(append([][]byte{r.Name}, r.Names...), catalog.CountMin, r.At, res)
	if err != nil {
		res.Err = err
		return
	}
	sources := make([]*redisbloom.CountMin, len(r.Names))
	for i := range sources {
		sources[i] = all[i+1].part.CountMin()
	}
	target := all[0].part
	c := target.CountMin()
	if res.Err = c.Merge(sources, weights); res.Err != nil {
		return
	}
	res.Changed = true
	target.version++
	position := int64(1)
	for cells := range slices.Chunk(c.Dump().Cells, maxPiece) {
		position += int64(len(cells))
		res.effects = append(res.effects, Record{
			Op: OpCountMinChunk, ID: all[0].entry.ID, Origin: r.Origin, Position: position, Limit: c.Total() + 1, Value: cells,
		})
	}
}

// AppendWeight appends a weight to the Value of OpCountMinMerge.
func AppendWeight(b []byte, w int64) []byte { return binary.AppendVarint(b, w) }

// mergeTDigests replaces a TDIGEST by the union of others, or makes it.
func (s *State) mergeTDigests(r *Record, res *Result) {
	target := s.Names.Get(r.Name)
	if target != nil && target.Expired(r.At) {
		res.effects = append(res.effects, Record{Op: OpEvict, At: r.At, Origin: r.Origin, IDs: []uint64{target.ID}})
		res.Changed = true
		s.drop(target)
		target = nil
	}
	names := r.Names
	if target != nil {
		names = append([][]byte{r.Name}, names...)
	}
	all, err := s.lockAll(names, catalog.TDigest, r.At, res)
	if err != nil {
		res.Err = err
		return
	}
	sources := all
	if target != nil && r.Flags&Override != 0 {
		sources = all[1:]
	}
	for _, m := range sources {
		if t := m.part.TDigest(); !t.Compressed() {
			t.Compress()
			m.part.version++
			res.effects = append(res.effects, Record{Op: OpCompress, ID: m.entry.ID, Origin: r.Origin})
			res.Changed = true
		}
	}
	digest, err := s.union(sources, unionCompression(r, target, all))
	if err != nil {
		res.Err = err
		return
	}
	res.Changed = true
	header := digest.AppendHeader(nil)
	if target == nil {
		p := NewPart(tdigest{digest})
		s.bytes.Add(NewCost(r.Name, p.Bytes()))
		p.mu.TryLock() // nobody else has it
		target = s.insertPart(r.Name, catalog.TDigest, p)
		res.made, res.Entry = append(res.made[:0], p), target
		res.effects = append(res.effects, Record{Op: OpTDigest, At: r.At, Origin: r.Origin, Name: r.Name, Value: header})
	} else {
		p := all[0].part
		old := p.TDigest()
		s.bytes.Add(int64(digest.Bytes()) - int64(old.Bytes()))
		old.Release()
		*old = *digest
		p.measure()
		p.version++
		res.effects = append(res.effects, Record{Op: OpTDigestBegin, ID: target.ID, Origin: r.Origin, Value: header})
	}
	res.effects = appendNodes(res.effects, digest, Record{Op: OpTDigestChunk, ID: target.ID, Origin: r.Origin})
}

// unionCompression returns the compression of a union: as asked for, else that of
// the destination unless it is left out, else the largest of the sources.
func unionCompression(r *Record, target *catalog.Entry, all []merged) int64 {
	if r.Position > 0 {
		return r.Position
	}
	if target != nil && r.Flags&Override == 0 {
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
	digest, err := redisbloom.NewTDigest(redisbloom.TDigestParams{Compression: compression, Memory: s.memory})
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

// appendNodes appends records that add the nodes of a digest.
func appendNodes(records []Record, digest *redisbloom.TDigest, r Record) []Record {
	const most = maxPiece / 16 * 16 // whole nodes
	mergedNodes, waiting := digest.Nodes()
	for nodes := range slices.Chunk(mergedNodes, most) {
		r.Value = nodes
		records = append(records, r)
	}
	r.Flags = 1
	for nodes := range slices.Chunk(waiting, most) {
		r.Value = nodes
		records = append(records, r)
	}
	return records
}
