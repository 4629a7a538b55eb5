package engine

// News of parts that other machines hold.

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/bloomery/bloomery/internal/news"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/following"
)

// A client asks any machine for news. That asks those that hold the parts, each for all that it holds:
//
//	call: newsMark, id, bytes at most, then of each part its index and the number that the copy has, "" for none
//	answer: 1 if parts were left out, and of each that has changed: its index, the next number, 1 if there is
//	more, the form, how long the bytes are, those that fit, and the number of a loan that has all, or 0
//
// A call that waits waits where the client is: every machine sees the records of all parts go by.
const newsMark = "\x00news"

// mostNumber bounds where numbers of changes begin. A number of another machine, or another time, is none of
// a ring by so much chance as the ring has changes in so many.
const mostNumber = 1 << 60

// newsOf returns what happened to the filter of an entry, and begins to note it if that is not done yet. It
// returns nil if there is no memory for that.
func (e *Engine) newsOf(entry *catalog.Entry) *following.News {
	if n := e.state.News(entry); n != nil {
		return n
	}
	room := following.NewsBytes(entry)
	if room > 0 && !e.Budget.Reserve(room) {
		return nil
	}
	defer e.Budget.Release(room)
	if e.shared == nil {
		return e.state.Follow(entry, rand.Uint64(), func() uint64 { return 0 })
	}
	return e.state.Follow(entry, entry.ID, func() uint64 { return rand.Uint64N(mostNumber) })
}

// loanRoom is memory for an answer that another machine reads.
type loanRoom struct {
	e    *Engine
	held int
}

func (r *loanRoom) Hold(n int) bool {
	if !r.e.Budget.Reserve(uint64(n)) {
		return false
	}
	r.held += n
	return true
}

func (r *loanRoom) Unhold(n int) {
	r.e.Budget.Release(uint64(n))
	r.held -= n
}

func (r *loanRoom) Held() int { return r.held }

// newsFor answers what copies lack of parts, for another machine.
func (e *Engine) newsFor(args [][]byte) answer.Reply {
	id, err := strconv.ParseUint(string(args[0]), 10, 64)
	most, ok := answer.ParseInt(args[1])
	if err != nil || !ok || most < 1 || len(args)%2 != 0 {
		return answer.Fail(answer.TextSyntax)
	}
	entry := e.state.Names.ByID(id)
	if entry == nil || !following.MayBeFollowed(entry.Kind) {
		return answer.Fail(textNotHere)
	}
	var lacks []following.Lack
	for pair := range slices.Chunk(args[2:], 2) {
		index, ok := answer.ParseInt(pair[0])
		number, err := uint64(news.Unknown), error(nil)
		if len(pair[1]) > 0 {
			number, err = strconv.ParseUint(string(pair[1]), 10, 64)
		}
		if err != nil || !ok || index < 0 || index >= int64(contents.PartCount(entry)) {
			return answer.Fail(answer.TextSyntax)
		}
		if !e.state.Answers(contents.PartAt(entry, uint32(index))) {
			return answer.Fail(textNotHere)
		}
		lacks = append(lacks, following.Lack{Part: int(index), Number: number})
	}
	n := e.newsOf(entry)
	if n == nil {
		return answer.Fail(answer.TextOOM)
	}
	n.Asked(e.clock().UnixMilli())
	rows, more, err := e.newsRows(n, lacks, int(min(most, lendPiece)))
	switch {
	case errors.Is(err, contents.ErrRetry): // it has gone meanwhile
		return answer.Fail(textNotHere)
	case errors.Is(err, contents.ErrMemory):
		return answer.Fail(answer.TextOOM)
	case err != nil:
		return answer.Fail("ERR " + answer.OneLine(err))
	}
	return answer.List(answer.Flag(more), answer.List(rows...))
}

// newsRows returns what copies lack of parts, up to so many bytes and one part more.
func (e *Engine) newsRows(n *following.News, lacks []following.Lack, left int) (rows []answer.Reply, more bool, err error) {
	for _, lack := range lacks {
		if left <= 0 {
			return rows, true, nil
		}
		room := &loanRoom{e: e}
		t, err := n.Take(lack, max(1, left/8), room)
		if err != nil {
			room.Unhold(room.held)
			if errors.Is(err, contents.ErrMemory) && len(rows) > 0 {
				return rows, true, nil
			}
			return nil, false, err
		}
		if t.Form == "" {
			continue
		}
		first, loan := t.Data, int64(0)
		if len(first) > lendPiece {
			first, loan = first[:lendPiece], e.grants.lend(e, uint64(room.held), t.Data)
		} else {
			room.Unhold(room.held)
		}
		rows = append(rows, answer.List(answer.Integer(int64(t.Part)), answer.Integer(int64(t.Next)), answer.Flag(t.More), answer.Text(t.Form),
			answer.Integer(int64(len(t.Data))), answer.Text(string(first)), answer.Integer(loan)))
		left -= len(t.Data) + t.Work
	}
	return rows, false, nil
}

// FarNews returns what a copy lacks of parts that other machines hold, up to so many bytes and one part more of
// each; and whether parts were left out. The reply says what is wrong, and is None if nothing is.
func (x Contents) FarNews(entry *catalog.Entry, lacks []following.Lack, most int) (all []following.Taken, more bool, failed answer.Reply) {
	e := x.e
	defer e.back(x.s, e.awaits(x.s, "another machine"))
	for looks := 0; len(lacks) > 0; looks++ {
		if looks > mostLooks+contents.PartCount(entry) {
			return nil, false, answer.Fail(textMoving)
		}
		node, some, failed := e.nearestOf(x.s, entry, lacks)
		if failed.Kind != answer.None {
			return nil, false, failed
		}
		q, args := newsQuestion(e, entry, some, most)
		r, a, err := e.askOneOf(node, q, args)
		switch {
		case err != nil:
			x.s.avoid = append(x.s.avoid, node)
			continue
		case r.Kind == answer.None: // who holds it is known then
			if err := e.router.Follow(a); err != nil {
				return nil, false, e.unsettled(err)
			}
			if now := e.state.Names.ByID(entry.ID); now != nil {
				entry = now
			}
			continue
		case r.Failed():
			return nil, false, r
		}
		held := x.Held()
		rows, left, err := x.readNews(node, &r)
		switch {
		case errors.Is(err, contents.ErrMemory) && len(all)+len(rows) > 0: // there will be when these are written
			return append(all, rows...), true, failed
		case errors.Is(err, contents.ErrMemory):
			return nil, false, answer.Fail(answer.TextOOM)
		case err != nil:
			x.Unhold(x.Held() - held)
			x.s.avoid = append(x.s.avoid, node)
			continue
		}
		all, more = append(all, rows...), more || left
		lacks = slices.DeleteFunc(lacks, func(l following.Lack) bool { return slices.Contains(some, l) })
	}
	return all, more, failed
}

// nearestOf returns a machine that holds the first of the parts, and those of them that it holds.
func (e *Engine) nearestOf(s *Session, entry *catalog.Entry, lacks []following.Lack) (node uint32, some []following.Lack, failed answer.Reply) {
	for _, l := range lacks {
		shard := contents.PartAt(entry, uint32(l.Part)).Shard()
		holders := e.untried(s, shard)
		switch {
		case node == 0 && len(holders) == 0 && len(s.avoid) > 0:
			return 0, nil, answer.Fail(textSilent)
		case node == 0 && len(holders) == 0:
			return 0, nil, answer.Fail(fmt.Sprintf(textNoHolder, shard))
		case node == 0:
			node = holders[0]
		}
		if slices.Contains(holders, node) && len(some) < mostLacks {
			some = append(some, l)
		}
	}
	return node, some, failed
}

// mostLacks is how many parts are asked for at once.
const mostLacks = 1 << 10

// newsQuestion asks for what a copy lacks of parts.
func newsQuestion(e *Engine, entry *catalog.Entry, lacks []following.Lack, most int) (*door.Question, [][]byte) {
	args := [][]byte{[]byte(newsMark), strconv.AppendUint(nil, entry.ID, 10), strconv.AppendInt(nil, int64(most), 10)}
	var lanes []int
	for _, l := range lacks {
		number := []byte(nil)
		if l.Number != news.Unknown {
			number = strconv.AppendUint(nil, l.Number, 10)
		}
		args = append(args, strconv.AppendInt(nil, int64(l.Part), 10), number)
		if lane := e.shared.LaneOf(entry.ID, uint32(l.Part)); !slices.Contains(lanes, lane) {
			lanes = append(lanes, lane)
		}
	}
	return &door.Question{Lanes: lanes, Body: appendCall(nil, args), Room: door.MaxQuestion}, args
}

// readNews reads what another machine has answered. The error is ErrMemory, with the rows for which there is memory here, or
// ErrRetry if the machine has not answered for all.
func (x Contents) readNews(node uint32, r *answer.Reply) (rows []following.Taken, more bool, err error) {
	if len(r.Elems) != 2 {
		return nil, false, contents.ErrRetry
	}
	for i := range r.Elems[1].Elems {
		v := r.Elems[1].Elems[i].Elems
		if len(v) != 7 || v[4].N < int64(len(v[5].Text)) || v[4].N > largestNews {
			return nil, false, contents.ErrRetry
		}
		t := following.Taken{Piece: news.Piece{Part: int(v[0].N), Form: v[3].Text, Data: []byte(v[5].Text)}, Next: uint64(v[1].N), More: v[2].N == 1}
		loan := v[6].N
		if err == nil && !x.Hold(2*int(v[4].N)) {
			err = contents.ErrMemory
		}
		switch ok := true; {
		case err != nil && loan != 0:
			x.e.endGrant(node, loan)
			continue
		case err != nil:
			continue
		case loan != 0:
			if t.Data, ok = x.readLoan(node, loan, t.Data, int(v[4].N)); !ok {
				return nil, false, contents.ErrRetry
			}
		}
		rows = append(rows, t)
	}
	return rows, r.Elems[0].N == 1, err
}

// largestNews is more than a part has.
const largestNews = 1 << 40
