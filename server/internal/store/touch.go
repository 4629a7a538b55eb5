package store

// Pages of arrays that records write to.

import "github.com/bloomery/bloomery/server/internal/contents"

const (
	// manyItems is how many items a message must have for the pages of their parts to be made first, if they
	// are more than few for one of these. The rest of the lane waits meanwhile.
	manyItems = 8
	// itemBytes is the approximate size of an item of a sketch in a record.
	itemBytes = 32
)

// Touch has the system make the pages that the records of a message are about to write to, if they
// have many items: see [contents.Part.Touch]. The caller holds no lock.
func (s *State) Touch(records []Record) {
	items := 0
	for i := range records {
		items += itemsOf(&records[i])
	}
	if items < manyItems {
		return
	}
	touch := func(p *contents.Part) {
		if p != nil && p.Untouched() && items > p.FewItems() {
			p.Touch(nil)
		}
	}
	for i := range records {
		r := &records[i]
		if itemsOf(r) == 0 {
			continue
		}
		touch(s.part(r.ID, r.Index))
		if sh := s.ShadowOf(r.ID); sh != nil {
			for _, p := range contents.Parts(sh.Entry()) {
				touch(p)
			}
		}
	}
}

// itemsOf returns about how many items a record adds.
func itemsOf(r *Record) int {
	switch o := r.Body.(type) {
	case *CuckooDelete, *FilterDelete, *FilterGone: // these write only to pages that are there
		return 0
	case Items:
		return o.Len()
	case *CountMinIncr:
		return 1 + len(o.Items)/itemBytes
	case *TopKIncr:
		return 1 + len(o.Items)/itemBytes
	}
	return 0
}
