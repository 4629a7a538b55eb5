package bundle

// Layers: filters that are asked one after the other, each for what those before it let pass.

import (
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/engine"
)

// stack is a call that asks layers.
type stack struct {
	t     engine.Turn
	c     *engine.Call
	l     *contents.Layered
	asked []engine.Call // a copy of the call, for checks of families

	items [][]byte // those that no layer has stopped, of the piece that is asked
	place []int    // where they stand among all items
	found []bool
}

// runLayers answers a call on layers, some items at a time, between which others have their
// turn. Every filter is asked inside the gate; between two of them others may change it.
func runLayers(t engine.Turn, c *engine.Call, entry *catalog.Entry) {
	n, l := len(c.Items), contents.PartOf(entry).Layered()
	switch {
	case l == nil:
		c.Fail(engine.TextElsewhere)
		return
	case !t.Context().Hold(n):
		c.Fail(answer.TextOOM)
		return
	}
	s := stack{t: t, c: c, l: l, asked: []engine.Call{c.Probe()}, found: make([]bool, min(n, maxRun))}
	all := make([]bool, n)
	for at := 0; at < n; {
		t.Leave()
		if t.Context().Killed() {
			c.Fail(answer.TextStopped)
			return
		}
		t.Context().GiveWay()
		t.Settle() // what this client has added to a layer is there
		t.Enter()
		s.items, s.place = s.items[:0], s.place[:0]
		for end := min(at+s.most(), n); at < end; at++ {
			s.items, s.place = append(s.items, c.Items[at]), append(s.place, at)
		}
		for i, name := range l.Names() {
			if len(s.items) > 0 && !s.sift(i, []byte(name)) {
				return
			}
		}
		l.Pass(len(s.place))
		for _, i := range s.place {
			all[i] = true
		}
	}
	c.AnswerBools(all)
}

// most returns how many items are asked for at a time: fewer if a layer takes long for each.
func (s *stack) most() int {
	most := maxRun
	for _, name := range s.l.Names() {
		if entry := s.t.Context().Names().Lookup([]byte(name)); entry != nil && contents.IsFilter(entry) {
			most = min(most, contents.PartOf(entry).Run())
		}
	}
	return most
}

// sift asks layer i, and keeps the items that it may have. It reports false if it has answered.
func (s *stack) sift(i int, name []byte) bool {
	for {
		entry := s.layer(name)
		if entry == nil {
			return false
		}
		if again, failed := s.ready(entry); failed {
			return false
		} else if again || !s.ask(entry, name) {
			continue // it is another one now
		}
		left := 0
		for j, at := range s.place {
			if s.found[j] {
				s.items[left], s.place[left] = s.items[j], at
				left++
			}
		}
		s.l.Stop(i, len(s.place)-left)
		s.items, s.place = s.items[:left], s.place[:left]
		return true
	}
}

// looks are the commands with which users ask filters, by their kind.
var looks = map[catalog.Kind]string{catalog.Filter: "filter.has", catalog.Bloom: "bf.exists", catalog.Cuckoo: "cf.exists"}

// layer returns the filter of a name. It answers and returns nil if there is none that this
// user may ask.
func (s *stack) layer(name []byte) *catalog.Entry {
	entry, quoted := s.t.Context().Names().Lookup(name), "'"+string(name[:min(len(name), 64)])+"'"
	look := looks[catalog.Filter]
	if entry != nil && looks[entry.Kind] != "" {
		look = looks[entry.Kind]
	}
	switch {
	case s.t.Context().Killed():
		s.c.Fail(answer.TextStopped)
	case !s.t.Context().Names().MayAlso(look, name):
		s.c.Fail("NOPERM the layer " + quoted + " needs the right to '" + look + "' on its key, too")
	case entry == nil:
		s.c.Fail("ERR the layer " + quoted + " is not there")
	case !contents.IsFilter(entry):
		s.c.Fail("WRONGTYPE the layer " + quoted + " is not a filter")
	case !s.t.Answers(entry):
		s.c.Fail("ERR the layer " + quoted + "  is held by another node: give all layers the same {hash tag}")
	default:
		return entry
	}
	return nil
}

// ready lets the family of a layer check it. It reports again if the layer has to be found anew,
// and failed if the call is answered.
func (s *stack) ready(entry *catalog.Entry) (again, failed bool) {
	f := s.t.Context().Contents().Family(entry.Kind)
	if f.Check == nil {
		return false, false
	}
	again = f.Check(s.t.Context(), entry, s.asked)
	if s.asked[0].Answered() {
		s.c.Answer(s.asked[0].Reply)
		return false, true
	}
	return again, false
}

// ask asks a filter for the items. It reports false if it has become another one.
func (s *stack) ask(entry *catalog.Entry, name []byte) bool {
	t, f, p, m := s.t, s.t.Context().Contents().Family(entry.Kind), contents.PartOf(entry), s.t.Memory()
	t.Reuse()
	apart := bytesOf(s.items) >= longBytes && !t.Context().Alone()
	if apart {
		t.Leave()
	}
	first := f.Hash(m, p, s.items)
	if apart {
		if t.Enter(); t.Context().Names().Lookup(name) != entry {
			return false
		}
	}
	found := s.found[:len(s.items)]
	t.Weigh(len(found))
	if contents.PartCount(entry) > 1 {
		return containsParts(m, entry, found, first)
	}
	p.RLock()
	defer p.RUnlock()
	if p.Gone() {
		return false
	}
	f.Contains(m, p, found, first)
	return true
}
