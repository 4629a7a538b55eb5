package store

// What records say to those who follow a filter.

import "github.com/bloomery/bloomery/server/internal/following"

// prepare has a ring remember the state of its part that is compared with the one after a record, before
// the record is applied. It returns where a FilterAdd is to leave the marks of its hashes, nil for all others.
func prepare(r *following.Ring, body Body) []uint8 {
	switch o := body.(type) {
	case *FilterAdd:
		return r.Room(len(o.Hashes))
	case *BloomAdd:
		r.BeforeDigests(o.Digests)
	case *CuckooDelete:
		r.BeforeDeletes()
	}
	return nil
}

// note notes what a record has changed. The version of the part is that behind it. What it does not
// know cannot be said in steps: followers fetch the filter again.
func note(r *following.Ring, body Body, res *Result) {
	if !r.Follows() {
		body = nil
	}
	switch o := body.(type) {
	case *FilterAdd:
		r.Added(o.Hashes, &res.Outcome)
	case *FilterDelete:
		r.Deleted(o.Hashes[:res.Done], res.Bools)
	case *FilterAdvance:
		r.Advanced(o.Generation)
	case *FilterGone, *FilterMark: // its bits are what they were
	case *BloomAdd:
		r.Digests(o.Digests[:res.Done], res.Bools)
	case *CuckooInsert:
		r.Inserted(o.Hashes[:res.Done], res.Codes)
	case *CuckooDelete:
		r.Deleted(o.Hashes[:res.Done], res.Bools)
	default:
		r.Forget()
	}
}
