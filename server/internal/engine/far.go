package engine

// Commands about contents of several machines, run at the one that the client talks to.

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/refusal"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// A command that is Apart goes through filters part by part. Where this machine does not hold a part, it has one
// that does put the records of it in order (parts_far.go), and reads it there:
//
//	call: lendMark, id, part in digits   answer: the number of the loan, the length of the part, its first piece
//	call: lendMark, number, place, ""    answer: the piece there. The loan ends as a grant does
//
// So neither machine needs memory for more than a part or two.
const (
	lendMark  = "\x00lend"
	lendPiece = 512 << 10
)

// apart reports whether calls are run here though other machines hold contents that they are about: none of
// them holds all, or the call is too long to be passed on.
func (e *Engine) apart(s *Session, calls []Call) bool {
	c := &calls[0]
	if c.cmd.Flags&traits.Apart == 0 || s.helps || s.group != nil || s.alone || !e.far(s, calls) {
		return false
	}
	filters, layers := true, false
	c.cmd.Keys.Each(c.Args, func(i int, _ traits.Key) {
		if entry := e.state.Names.Lookup(c.Args[i], s.ms); entry != nil && entry.Kind != catalog.Filter && !e.answers(entry) {
			filters, layers = false, layers || entry.Kind == catalog.Layers
		}
	})
	text := e.route(s, &passing{}, c)
	switch {
	case c.cmd.Flags&traits.Steps != 0:
		return !strings.HasPrefix(text, "CLUSTERDOWN ")
	case c.cmd.OnePart != nil:
		return filters && text == ""
	}
	if text == fmt.Sprintf(textSpread, strings.ToUpper(c.cmd.Name)) {
		return !layers // of other kinds nothing is read: their kind decides
	}
	return filters && text == "" && callSize(c.Args) > door.MaxQuestion
}

// askHolder reads at the machines that hold a part, one by one until one answers, and returns which has. The error is
// contents.ErrRetry if the part is gone, or wraps those of Router.Ask.
func (e *Engine) askHolder(s *Session, id uint64, index uint32, args ...[]byte) (r answer.Reply, node uint32, err error) {
	for looks := 0; looks < mostLooks; looks++ {
		entry := e.state.Names.ByID(id)
		if entry == nil || contents.PartAt(entry, index) == nil {
			return r, 0, contents.ErrRetry
		}
		shard := contents.PartAt(entry, index).Shard()
		err = fmt.Errorf("%w: shard %d has no live holder", door.ErrDown, shard)
		silent := false
		for _, node = range e.router.Holders(shard) {
			var a door.Answer
			q := door.Question{Lanes: []int{e.shared.LaneOf(id, index)}, Body: appendCall(nil, args), Room: door.MaxQuestion}
			if r, a, err = e.askOneOf(node, &q, args); err == nil && r.Kind != answer.None {
				return r, node, nil
			}
			if silent = err != nil; !silent {
				err = e.router.Follow(a) // who holds it is known then
				break
			}
		}
		switch {
		case silent && e.askAgain(s):
			looks--
		case err != nil:
			return r, 0, err
		}
	}
	return r, 0, fmt.Errorf("%w: contents are being moved between nodes", door.ErrDown)
}

// askOneOf asks a machine something that is no command. The answer is None if it does not hold what that is about.
func (e *Engine) askOneOf(node uint32, q *door.Question, args [][]byte) (answer.Reply, door.Answer, error) {
	c := Call{Args: args, cmd: &Command{}}
	v := question{calls: []*Call{&c}, of: []*passing{{}}}
	a, err := e.router.Ask([]uint32{node}, q)
	if err == nil {
		err = v.read(a)
	}
	return c.Reply, a, err
}

// helpPart answers a call of another machine about a part. It reports false if it is none.
func (e *Engine) helpPart(args [][]byte) (r answer.Reply, is bool) {
	switch {
	case len(args) > 3 && string(args[0]) == newsMark:
		return e.newsFor(args[1:]), true
	case len(args) == 3 && string(args[0]) == lendMark:
		id, err := strconv.ParseUint(string(args[1]), 10, 64)
		index, ok := answer.ParseInt(args[2])
		if err != nil || !ok || index < 0 || index >= contents.MaxParts {
			return answer.Fail(answer.TextSyntax), true
		}
		return e.lend(id, uint32(index)), true
	case len(args) == 4 && string(args[0]) == lendMark:
		number, ok := answer.ParseInt(args[1])
		at, ok2 := answer.ParseInt(args[2])
		if !ok || !ok2 || at < 0 {
			return answer.Fail(answer.TextSyntax), true
		}
		return e.grants.piece(number, at), true
	}
	return r, false
}

// lend keeps the encoding of a part for another machine to read.
func (e *Engine) lend(id uint64, index uint32) answer.Reply {
	entry := e.state.Names.ByID(id)
	if entry == nil || e.packs(entry.Kind) == nil || contents.PartAt(entry, index) == nil {
		return answer.Fail(answer.TextNotFound)
	}
	p := contents.PartAt(entry, index)
	if !e.state.Answers(p) {
		return answer.Fail(textNotHere)
	}
	p.RLock()
	size := p.Bytes()
	p.RUnlock()
	number := e.grants.give(e, size+size>>16+lendExtra)
	if number == 0 {
		return answer.Fail(answer.TextOOM)
	}
	data, err := e.packs(entry.Kind)(p)
	if err != nil || !e.state.Answers(p) {
		e.grants.end(e, number)
		if err != nil {
			return answer.Fail(answer.TextNotFound)
		}
		return answer.Fail(textNotHere)
	}
	e.grants.keep(number, data)
	return answer.List(answer.Integer(number), answer.Integer(int64(len(data))), answer.Text(string(data[:min(len(data), lendPiece)])))
}

// packs returns what encodes parts of a kind, nil if they are not lent.
func (e *Engine) packs(k catalog.Kind) func(*contents.Part) ([]byte, error) {
	if f := e.table.Family(k); f != nil {
		return f.PackPart
	}
	return nil
}

// lendExtra is what the encoding of a part may have beside its bytes.
const lendExtra = 64 << 10

// Fetch returns the encoding of a part, with what it keeps aside, wherever it lies. The bytes are counted for the
// reply: who has used them calls Unhold with their number. The reply says what is wrong, and is None if nothing is.
func (x Contents) Fetch(entry *catalog.Entry, index uint32) (data []byte, failed answer.Reply) {
	p := contents.PartAt(entry, index)
	for range mostLooks {
		if x.e.state.Answers(p) {
			data, err := x.e.packs(entry.Kind)(p)
			switch {
			case err != nil:
				return nil, answer.Fail(answer.TextNotFound)
			case !x.e.state.Answers(p): // it has gone meanwhile
				continue
			case !x.Hold(len(data)):
				return nil, answer.Fail(answer.TextOOM)
			}
			return data, answer.Reply{}
		}
		var again bool
		if data, again, failed = x.fetchFar(entry, index); !again {
			return data, failed
		}
	}
	return nil, answer.Fail(textMoving)
}

// fetchFar reads a part at a machine that holds it. It reports again if that has to begin anew: the machine has not
// answered for all of it.
func (x Contents) fetchFar(entry *catalog.Entry, index uint32) (data []byte, again bool, failed answer.Reply) {
	e := x.e
	defer e.back(x.s, e.awaits(x.s, "another machine"))
	loan, node, err := e.askHolder(x.s, entry.ID, index, []byte(lendMark), strconv.AppendUint(nil, entry.ID, 10), fmt.Append(nil, index))
	switch {
	case errors.Is(err, contents.ErrRetry):
		return nil, false, answer.Fail(answer.TextNotFound)
	case err != nil:
		return nil, false, answer.Fail(fmt.Sprintf(textNotFetched, answer.Clip([]byte(entry.Name())), refusal.Cause(err)))
	case loan.Failed():
		return nil, false, loan
	case len(loan.Elems) != 3 || loan.Elems[1].N < int64(len(loan.Elems[2].Text)) || loan.Elems[1].N > math.MaxInt:
		return nil, true, failed
	}
	size := int(loan.Elems[1].N)
	if !x.Hold(size) {
		e.endGrant(node, loan.Elems[0].N)
		return nil, false, answer.Fail(answer.TextOOM)
	}
	data, ok := x.readLoan(node, loan.Elems[0].N, []byte(loan.Elems[2].Text), size)
	if ok {
		return data, false, failed
	}
	x.Unhold(size)
	if x.Stopped() {
		return nil, false, answer.Fail(answer.TextStopped)
	}
	return nil, true, failed
}

// readLoan reads what a machine lends, of which the first bytes are here, and ends the loan. It reports false if the
// machine has not answered for all of it, or the client has left.
func (x Contents) readLoan(node uint32, number int64, first []byte, size int) (data []byte, ok bool) {
	e := x.e
	defer e.endGrant(node, number)
	data = append(make([]byte, 0, size), first...)
	for len(data) < size {
		if x.Stopped() {
			return nil, false
		}
		r := e.askMark(node, door.MaxQuestion, []byte(lendMark), fmt.Append(nil, number), fmt.Append(nil, len(data)), nil)
		if r.Failed() || len(r.Text) == 0 || len(r.Text) > size-len(data) {
			return nil, false
		}
		data = append(data, r.Text...)
	}
	return data, true
}

// Borrow returns a part of a filter, or a sketch, to be read: the part itself, or a copy of one that other machines hold, which is
// counted for the reply until it is given back. The reply says what is wrong, and is None if nothing is.
func (x Contents) Borrow(entry *catalog.Entry, index uint32) (p *contents.Part, giveBack func(), failed answer.Reply) {
	if p = contents.PartAt(entry, index); x.e.state.Answers(p) {
		return p, func() {}, failed
	}
	plan := p.Plan()
	if plan == nil && entry.Kind == catalog.Filter {
		return nil, nil, answer.Fail(answer.TextNotFound)
	}
	data, failed := x.Fetch(entry, index)
	if failed.Kind != answer.None {
		return nil, nil, failed
	}
	size := len(data)
	if !x.Hold(size) {
		x.Unhold(size)
		return nil, nil, answer.Fail(answer.TextOOM)
	}
	loose, err := x.e.state.Loose(entry.Kind, plan, data)
	if err != nil {
		x.Unhold(2 * size)
		return nil, nil, answer.Fail("ERR " + answer.OneLine(err))
	}
	x.Unhold(size) // the encoding is needed no more
	return loose, func() {
		loose.Contents().Release()
		x.Unhold(size)
	}, failed
}

// Here reports whether this machine answers for a part.
func (x Contents) Here(p *contents.Part) bool { return x.e.state.Answers(p) }
