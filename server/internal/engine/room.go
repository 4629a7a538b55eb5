package engine

// Memory of other machines, which is set aside there before a record is sent that takes much of it.

import (
	"fmt"
	"sync"
	"time"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
)

// What machines know of each other's memory is up to a second old: several of them, or one that is
// quick, could give the same bytes away twice. So whoever makes something large asks those that are to
// have it to set the memory aside. They are asked in the order of their numbers: of two who ask for the
// same bytes, one gets them at every machine.
//
//	call: roomMark, bytes in digits     answer: the number of the grant, or 0, and how many bytes are left
//	call: roomMark, "", numbers         answer: nothing. It comes when the records were applied there (ended.go)
//
// A machine that does not answer, or knows no such call, is judged by what it has said before.
const roomMark = "\x00room"

// grantFor is how long memory stays set aside for a machine that does not say what became of its record.
const grantFor = time.Minute

// grants is what is set aside here for other machines.
type grants struct {
	mu   sync.Mutex // guards what follows
	last int64
	open map[int64]gift
}

// gift is memory that is set aside for a record of another machine.
type gift struct {
	bytes uint64
	over  *time.Timer
	data  []byte // that the other machine reads, nil if there is none
}

// give sets n bytes aside and returns the number of the grant, 0 if there are not so many.
func (g *grants) give(e *Engine, n uint64) int64 {
	if !e.Budget.Reserve(n) {
		return 0
	}
	return g.lend(e, n, nil)
}

// lend is give of bytes that are set aside already, for data that the other machine reads.
func (g *grants) lend(e *Engine, n uint64, data []byte) int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open == nil {
		g.open = map[int64]gift{}
		g.last = e.clock().UnixNano() // nobody ends a grant of this run by a number of the one before
	}
	g.last++
	number := g.last
	g.open[number] = gift{bytes: n, data: data, over: time.AfterFunc(grantFor, func() { g.end(e, number) })}
	return number
}

// end gives back what a grant has set aside, unless that was done.
func (g *grants) end(e *Engine, number int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if v, ok := g.open[number]; ok {
		v.over.Stop()
		e.Budget.Release(v.bytes)
		delete(g.open, number)
	}
}

// keep has a grant be for data that the other machine reads.
func (g *grants) keep(number int64, data []byte) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if v, ok := g.open[number]; ok {
		v.data = data
		g.open[number] = v
	}
}

// piece returns what the data of a grant have from a place on.
func (g *grants) piece(number, at int64) answer.Reply {
	g.mu.Lock()
	defer g.mu.Unlock()
	v := g.open[number]
	if at >= int64(len(v.data)) {
		return answer.Fail("ERR no such loan")
	}
	v.over.Reset(grantFor)
	return answer.Text(string(v.data[at:min(int64(len(v.data)), at+lendPiece)]))
}

// helpRoom answers a call of another machine for room. It reports false if the call is another one.
func (e *Engine) helpRoom(args [][]byte) (r answer.Reply, is bool) {
	if len(args) < 2 || string(args[0]) != roomMark {
		return r, false
	}
	if len(args) > 2 {
		return e.helpEnded(args[2]), true
	}
	n, ok := answer.ParseInt(args[1])
	if !ok || n < 0 {
		return answer.Fail(answer.TextSyntax), true
	}
	left := e.Budget.Left()
	return answer.List(answer.Integer(e.grants.give(e, uint64(n))), answer.Integer(int64(left))), true
}

// granted is memory that other machines have set aside for a record.
type granted struct {
	nodes   []uint32
	numbers []int64
}

// grant sets memory aside for a record that makes something: own bytes here, and at the other machines that are to have
// much of it. It leaves the gate if it has to ask. The error wraps door.ErrMemory: nothing is set aside then. It is
// door.ErrMemory itself if this machine has too little.
func (e *Engine) grant(s *Session, op *door.Op, own uint64) (*granted, error) {
	var takers []door.Taker
	if e.router != nil && s.group == nil && !s.alone {
		takers = e.router.Takers(&op.Record)
	}
	if len(takers) > 0 {
		e.leave(s)
		defer e.back(s, e.awaits(s, "memory of other machines"))
	}
	g, err := e.grantAt(takers, own)
	if err == nil && g != nil {
		op.Granted = g.nodes
	}
	return g, err
}

// grantAt is grant for machines that are known, in the order of their numbers. It returns nil if no other has set
// something aside.
func (e *Engine) grantAt(takers []door.Taker, own uint64) (g *granted, err error) {
	here := own == 0
	for _, t := range takers {
		if !here && t.Node > e.router.Self() {
			if here = e.Budget.Reserve(own); !here {
				e.ungrant(g)
				return nil, door.ErrMemory
			}
		}
		number, left, ok := e.askRoom(t)
		switch {
		case !ok: // what it has said before has to do
		case number == 0:
			if e.ungrant(g); here {
				e.Budget.Release(own)
			}
			return nil, e.lacks(t.Node, t.Bytes, left)
		case g == nil:
			g = &granted{[]uint32{t.Node}, []int64{number}}
		default:
			g.nodes, g.numbers = append(g.nodes, t.Node), append(g.numbers, number)
		}
	}
	if !here && !e.Budget.Reserve(own) {
		e.ungrant(g)
		return nil, door.ErrMemory
	}
	return g, nil
}

// lacks is the error of a machine that has too little memory.
func (e *Engine) lacks(node uint32, bytes uint64, left int64) error {
	return fmt.Errorf("%w: %s is to hold %d bytes of it, and has room for %d", door.ErrMemory, e.nodesNamed([]uint32{node}), bytes, left)
}

// ReserveFor sets n bytes aside for a part, at all machines that have it. The reply says what is wrong, and is None if
// nothing is.
func (x Contents) ReserveFor(p *contents.Part, n uint64) (release func(), failed answer.Reply) {
	e, own := x.e, n
	var takers []door.Taker
	if e.router != nil && x.s.group == nil && !x.s.alone {
		defer e.back(x.s, e.awaits(x.s, "memory of other machines"))
		takers = e.router.TakersOf(p, n)
		if place := e.state.PlaceOf(p); place != nil && place.Copy(e.router.Self()).Phase == 0 {
			own = 0
		}
	}
	g, err := e.grantAt(takers, own)
	if err == door.ErrMemory && x.s.helps { //nolint:errorlint // the client talks to another machine
		err = e.lacks(e.router.Self(), own, int64(e.Budget.Left()))
	}
	if err != nil {
		return nil, e.unsettled(err)
	}
	return func() {
		e.Budget.Release(own)
		e.ungrant(g)
	}, failed
}

// askRoom asks a machine to set memory aside. It reports false if that has not answered.
func (e *Engine) askRoom(t door.Taker) (number, left int64, ok bool) {
	r := e.askMark(t.Node, shortAnswer, []byte(roomMark), fmt.Append(nil, t.Bytes))
	if len(r.Elems) != 2 {
		return 0, 0, false
	}
	return r.Elems[0].N, r.Elems[1].N, true
}

// shortAnswer is room for an answer of a few numbers, or an error.
const shortAnswer = 1 << 10

// askMark asks a machine something that is no command, and returns its answer, an error if there is none.
func (e *Engine) askMark(node uint32, room int, args ...[]byte) answer.Reply {
	r, _, err := e.askOneOf(node, &door.Question{Body: appendCall(nil, args), Room: room}, args)
	if err != nil {
		return answer.Fail("CLUSTERDOWN " + answer.OneLine(err))
	}
	return r
}

// ungrant has other machines give back what they have set aside for a record, when that was applied here or was not
// sent. Nobody waits for that: they do it when they are as far as this machine, and have applied it, too.
func (e *Engine) ungrant(g *granted) {
	if g == nil {
		return
	}
	for i, node := range g.nodes {
		e.endGrant(node, g.numbers[i])
	}
}
