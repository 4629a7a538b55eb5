package main

import (
	"container/list"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/contrib/admission"
	"github.com/bloomery/bloomery/counting"
)

// edge is a cache of the objects that were asked for last. It counts them in a filter from which
// they can be deleted; others get the bits of that, without the counters.
type edge struct {
	room   int
	byAge  list.List
	places map[string]*list.Element

	door   *admission.Door // nil stores all
	others []*edge
	home   *counting.Filter // nil for a cache that sends no digest

	published []byte          // the digest that others have
	holds     map[string]bool // what is in it, to count false positives
	abroad    bloomery.View   // it, opened
}

func newEdge(room int, digest bool) *edge {
	e := &edge{room: room, places: map[string]*list.Element{}}
	if digest {
		e.home = counting.New(room+1, rate) // one more while another goes
	}
	return e
}

// object is what a cache holds of one.
type object struct {
	name    string
	version int
}

// has reports whether a cache holds an object, and counts those that have changed since.
func (e *edge) has(want object, o *outcome) bool {
	at := e.places[want.name]
	if at != nil && at.Value != want {
		o.stale++
	}
	return at != nil
}

// request answers for an object: from the cache, from a neighbour whose digest has it, or from the
// origin.
func (e *edge) request(want object, o *outcome) error {
	name := want.name
	admitted := e.door == nil || e.door.Seen([]byte(name))
	if e.has(want, o) {
		e.byAge.MoveToFront(e.places[name])
		o.hits++
		return nil
	}
	o.misses++
	if !e.fromNeighbour(want, o) {
		o.fetches++
	}
	if !admitted {
		return nil
	}
	o.writes++
	return e.store(want)
}

// fromNeighbour asks the caches whose digests have an object.
func (e *edge) fromNeighbour(want object, o *outcome) bool {
	for _, other := range e.others {
		if other.abroad == nil {
			continue
		}
		found := other.abroad.Contains([]byte(want.name))
		if !other.holds[want.name] {
			o.absent++
			if found {
				o.wrong++
			}
		}
		if !found {
			continue
		}
		if other.has(want, o) {
			o.neighbours++
			return true
		}
		o.inVain++ // a false positive, or gone since the digest was sent
	}
	return false
}

func (e *edge) store(new object) error {
	e.places[new.name] = e.byAge.PushFront(new)
	if e.home != nil {
		if err := e.home.InsertString(new.name); err != nil {
			return err
		}
	}
	if e.byAge.Len() > e.room {
		e.drop(e.byAge.Back().Value.(object).name)
	}
	return nil
}

// drop removes an object that is there.
func (e *edge) drop(name string) {
	e.byAge.Remove(e.places[name])
	delete(e.places, name)
	if e.home != nil {
		e.home.DeleteString(name)
	}
}

// invalidate drops an object that has changed from all caches: they are all told, since digests may
// lack what was stored lately.
func invalidate(edges []*edge, name string, o *outcome) {
	for _, e := range edges {
		if e.places[name] != nil {
			o.changed++
			e.drop(name)
		}
	}
}

// exchange sends the digest of each cache to all others: what has changed since the last one.
func exchange(edges []*edge, o *outcome) error {
	for _, e := range edges {
		if e.home == nil {
			continue
		}
		digest := e.home.Bloom()
		whole, err := codec.Compress(nil, digest)
		if err != nil {
			return err
		}
		o.whole += len(whole) * len(e.others)
		if e.published == nil {
			o.exchanged += len(whole) * len(e.others)
		} else {
			patch, err := codec.Diff(e.published, digest)
			if err != nil {
				return err
			}
			o.exchanged += len(patch) * len(e.others)
			if digest, err = codec.Patch(e.published, patch); err != nil { // as the others do
				return err
			}
		}
		e.published, e.holds = digest, map[string]bool{}
		for name := range e.places {
			e.holds[name] = true
		}
		if e.abroad, err = (codec.Config{}).View(digest); err != nil {
			return err
		}
	}
	return nil
}
