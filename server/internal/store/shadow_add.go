package store

// Adding to a filter and its shadow.

import (
	"slices"

	"github.com/bloomery/bloomery"
)

// portion is what one part of a shadow gets of a record.
type portion struct {
	index  uint32
	hashes []uint64
}

// portions sorts hashes by the part of the shadow that they go to.
func (sh *Shadow) portions(hashes []uint64) []portion {
	log := uint(sh.plan.Parts)
	if log == 0 || len(hashes) == 1 {
		return []portion{{uint32(bloomery.Route(hashes[0], log)), hashes}}
	}
	list := make([]portion, 0, min(len(hashes), 1<<log))
	sorted := slices.Clone(hashes)
	slices.SortStableFunc(sorted, func(a, b uint64) int { return bloomery.Route(a, log) - bloomery.Route(b, log) })
	for from := 0; from < len(sorted); {
		part := bloomery.Route(sorted[from], log)
		to := from + 1
		for to < len(sorted) && bloomery.Route(sorted[to], log) == part {
			to++
		}
		list = append(list, portion{uint32(part), sorted[from:to]})
		from = to
	}
	return list
}

// ShadowGrowth returns the most bytes that hashes can make the shadow of a record grow
// by. The caller holds the lock of the part that the record is for.
func (s *State) ShadowGrowth(r *Record) uint64 {
	sh := s.ShadowOf(r.ID)
	if sh == nil || r.Shadow == 0 || r.Op != OpFilterAdd || len(r.Second) == 0 {
		return 0
	}
	sum := uint64(0)
	for _, v := range sh.portions(r.Second) {
		p := PartAt(sh.Entry, v.index)
		p.RLock()
		if !p.gone && p.contents != nil {
			most, _ := p.contents.Growth(len(v.hashes))
			sum += most
		}
		p.RUnlock()
	}
	return sum
}

// mirror gives the shadow of a filter what a record has added to the filter, or
// counts what it has deleted. Parts of the shadow stay locked until res.Release. A
// shadow that cannot take it is broken: that is no error of the record.
func (s *State) mirror(r *Record, res *Result) {
	sh := s.ShadowOf(r.ID)
	if sh == nil || sh.Entry.ID != r.Shadow || res.Done == 0 {
		return
	}
	if r.Op == OpFilterDelete {
		n := int64(0)
		for _, was := range res.Bools[:res.Done] {
			if was {
				n++
			}
		}
		if n > 0 {
			_, _ = s.toShadow(sh, Record{Op: OpShadowMissed, Index: r.Index & (1<<sh.plan.Parts - 1), Position: n}, res)
		}
		return
	}
	added := r.Second[:res.Done]
	if res.Failed != nil {
		if added = withRoom(added, res.Failed); len(added) == 0 {
			return
		}
	}
	room := r.SecondRoom
	for _, v := range sh.portions(added) {
		next := Record{Op: OpShadowAdd, Index: v.index, Hashes: v.hashes, Room: room}
		grown, err := s.toShadow(sh, next, res)
		room -= min(room, uint64(max(0, grown)))
		if err != nil {
			_, _ = s.toShadow(sh, Record{Op: OpShadowBreak, Index: v.index}, res)
			return
		}
	}
}

// withRoom returns the hashes that did not fail.
func withRoom(hashes []uint64, failed []bool) []uint64 {
	var list []uint64
	for i, h := range hashes {
		if !failed[i] {
			list = append(list, h)
		}
	}
	return list
}

// toShadow applies a record to a part of a shadow, and notes it for the log.
func (s *State) toShadow(sh *Shadow, r Record, res *Result) (grown int64, err error) {
	r.ID = sh.Entry.ID
	p := PartAt(sh.Entry, r.Index)
	if !slices.Contains(res.held, p) {
		p.Lock()
		res.held = append(res.held, p)
	}
	d, ok := p.contents.(*draft)
	if !ok || p.gone {
		return 0, nil // it was given up
	}
	var own Result
	grown = d.Apply(&r, &own)
	s.bytes.Add(grown)
	if r.Op == OpShadowBreak {
		sh.broken.Store(true)
	}
	if !own.Changed {
		return grown, own.Err
	}
	p.version++
	if r.Op == OpShadowAdd {
		kept := make([]uint64, 0, own.Done)
		for i, h := range r.Hashes[:own.Done] {
			if own.kept(i) {
				kept = append(kept, h)
			}
		}
		r.Hashes, r.Room = kept, Unlimited
	}
	res.effects = append(res.effects, r)
	return grown, own.Err
}
