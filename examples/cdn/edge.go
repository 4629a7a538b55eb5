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
	home   *counting.Filter

	door   *admission.Door // nil stores all
	others []*edge         // none if there are no digests

	published []byte          // the digest that others have
	holds     map[string]bool // what is in it, to count false positives
	abroad    bloomery.View   // it, opened
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
	admitted := e.door == nil || e.door.Seen([]byte(want.name))
	if e.has(want, o) {
		e.byAge.MoveToFront(e.places[want.name])
		o.hits++
		return nil
	}
	if !e.fromNeighbour(want, o) {
		o.fetches++
	}
	if !admitted {
		return nil
	}
	o.writes++
	if e.byAge.Len() == e.room {
		e.drop(e.byAge.Back().Value.(object).name)
	}
	e.places[want.name] = e.byAge.PushFront(want)
	return e.home.InsertString(want.name)
}

// fromNeighbour asks the caches whose digests have an object.
func (e *edge) fromNeighbour(want object, o *outcome) bool {
	for _, other := range e.others {
		found := other.abroad.Contains([]byte(want.name))
		if !other.holds[want.name] {
			o.absent++
			if found {
				o.wrong++
			}
		}
		if found && other.has(want, o) {
			o.neighbours++
			return true
		}
		if found {
			o.inVain++ // a false positive, or gone since the digest was sent
		}
	}
	return false
}

// drop removes an object if it is there, and reports whether it was.
func (e *edge) drop(name string) bool {
	at := e.places[name]
	if at == nil {
		return false
	}
	e.byAge.Remove(at)
	delete(e.places, name)
	e.home.DeleteString(name)
	return true
}

// publish sends the digest of a cache to all others: what has changed since the last one.
func (e *edge) publish(o *outcome) error {
	if len(e.others) == 0 {
		return nil
	}
	digest := e.home.Bloom()
	whole, err := codec.Compress(nil, digest)
	if err != nil {
		return err
	}
	sent := whole
	if e.published != nil {
		if sent, err = codec.Diff(e.published, digest); err != nil {
			return err
		}
		if digest, err = codec.Patch(e.published, sent); err != nil { // as the others do
			return err
		}
	}
	o.whole += len(whole) * len(e.others)
	o.exchanged += len(sent) * len(e.others)
	e.published, e.holds = digest, map[string]bool{}
	for name := range e.places {
		e.holds[name] = true
	}
	e.abroad, err = codec.Config{}.View(digest)
	return err
}
