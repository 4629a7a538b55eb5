package cluster

// Parts that a node lends to others, which learn them.

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"sync"
	"time"

	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/placement"
	"github.com/bloomery/bloomery/server/internal/roster"
	"github.com/bloomery/bloomery/server/internal/wire"
)

// A part is lent frozen between two messages of its lane, with the table of senders there. A
// node learns one part at a time, so it has one loan at a node: another one takes its place.
// As long as there is a loan the log is kept from where the part was frozen on.
//
//	question: askLend, learner, id, index       answer: loan, version, sequence, size, table of senders, first piece
//	question: askPiece, learner, loan, number   answer: the piece
//	question: askReturn, learner                answer: nothing
//	question: askShards                         answer: a bit for each shard: whether this node answers for it
//	question: askSizes                          answer: how many bytes of each shard are here
//
// A piece is its place in the whole, the checksum of all up to its end, and its bytes.
const (
	askLend   = 40
	askPiece  = 41
	askReturn = 42
	askShards = 43
	askSizes  = 44

	lendPiece = 256 << 10
	// lendFor is for how long a loan is kept without a question: a learner that has died asks for
	// no more, and one that reads the log behind a part is done by then, or begins again.
	lendFor = time.Minute
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var errNoLoan = errors.New("cluster: no such loan")

// lent is a part that another node learns, as it is at a place of its lane.
type lent struct {
	number  uint64
	lane    *lane
	seq     uint64
	version uint64
	senders []byte
	size    uint64
	used    time.Duration // as Door.tick counts; guarded by keeping.mu

	mu     sync.Mutex // guards what follows
	part   *contents.Part
	frozen contents.Frozen // nil when all of it was read, or nobody will
	pieces uint64          // that were read
	read   uint64          // bytes of those
	sum    uint32          // of those
}

// lend freezes a part of a shard that this node holds. The error is contents.ErrRetry if it is
// gone, and contents.ErrElsewhere if this node does not answer for it.
func (d *Door) lend(id uint64, index uint32) (*lent, error) {
	e := d.state.Names.ByID(id)
	if e == nil || contents.PartAt(e, index) == nil {
		return nil, contents.ErrRetry
	}
	z := &lent{part: contents.PartAt(e, index), lane: d.laneAt(id, index, contents.Everywhere(e))}
	z.part.Sweep()
	var err error
	z.lane.still(func(seq uint64) {
		z.part.Lock()
		defer z.part.Unlock()
		switch {
		case z.part.Gone():
			err = contents.ErrRetry
		case z.part.Elsewhere() || !d.state.Answers(z.part):
			err = contents.ErrElsewhere
		default:
			z.seq, z.senders, z.version = seq, z.lane.senders.Append(nil), z.part.Changes()
			z.frozen, err = z.part.Freeze()
		}
	})
	if err != nil {
		return nil, err
	}
	z.size = uint64(z.frozen.Size())
	return z, nil
}

// openLoan lends a part to a node.
func (d *Door) openLoan(learner, id, index uint64) ([]byte, error) {
	if learner == 0 || learner > roster.MaxMembers || index > math.MaxUint32 {
		return nil, errQuestion
	}
	if err := d.Current(); err != nil {
		return nil, err
	}
	d.endLoans(func(node uint32, _ *lent) bool { return node == uint32(learner) })
	z, err := d.lend(id, uint32(index))
	if err != nil {
		return nil, err
	}
	k := &d.keep
	k.mu.Lock()
	k.last++
	z.number, z.used = k.last, d.tick()
	if k.lent == nil {
		k.lent = map[uint32]*lent{}
	}
	before := k.lent[uint32(learner)] // it has asked twice at once
	k.lent[uint32(learner)] = z
	d.noteKept()
	k.mu.Unlock()
	before.close()
	b := []byte{answerGiven}
	for _, v := range []uint64{z.number, z.version, z.seq, z.size, uint64(len(z.senders))} {
		b = binary.AppendUvarint(b, v)
	}
	return z.appendPiece(append(b, z.senders...), 0)
}

// readLoan returns a piece of a part that is lent.
func (d *Door) readLoan(learner, number, piece uint64) ([]byte, error) {
	d.keep.mu.Lock()
	z := d.keep.lent[uint32(min(learner, math.MaxUint32))]
	if z == nil || z.number != number {
		d.keep.mu.Unlock()
		return nil, errNoLoan
	}
	z.used = d.tick()
	d.keep.mu.Unlock()
	return z.appendPiece([]byte{answerGiven}, piece)
}

// appendPiece appends the next piece, which has to be the one that is asked for. The error is
// contents.ErrRetry if the part is gone meanwhile: it is not whole then.
func (z *lent) appendPiece(b []byte, number uint64) ([]byte, error) {
	z.mu.Lock()
	defer z.mu.Unlock()
	if z.frozen == nil || number != z.pieces {
		return nil, errNoLoan
	}
	z.part.RLock()
	gone := z.part.Gone()
	var piece []byte
	var off int64
	if !gone {
		piece, off = z.frozen.Next(make([]byte, 0, lendPiece))
	}
	z.part.RUnlock()
	if gone {
		return nil, contents.ErrRetry
	}
	z.pieces++
	z.read += uint64(len(piece))
	z.sum = crc32.Update(z.sum, castagnoli, piece)
	if z.read >= z.size || len(piece) == 0 {
		z.letGo()
	}
	b = binary.AppendUvarint(b, uint64(off))
	b = binary.LittleEndian.AppendUint32(b, z.sum)
	return append(b, piece...), nil
}

// close ends a loan. There may be none.
func (z *lent) close() {
	if z != nil {
		z.mu.Lock()
		defer z.mu.Unlock()
		z.letGo()
	}
}

// letGo ends the copy. The caller holds z.mu.
func (z *lent) letGo() {
	if z.frozen != nil {
		z.part.Lock()
		_ = z.frozen.Close() // nothing is kept of it
		z.part.Unlock()
		z.frozen = nil
	}
}

// endLoans ends those of some nodes.
func (d *Door) endLoans(those func(learner uint32, z *lent) bool) {
	k := &d.keep
	var over []*lent
	k.mu.Lock()
	for learner, z := range k.lent {
		if those(learner, z) {
			over = append(over, z)
			delete(k.lent, learner)
		}
	}
	if len(over) > 0 {
		d.noteKept()
	}
	k.mu.Unlock()
	for _, z := range over {
		z.close()
	}
}

// expireLoans ends those that nobody has asked for in a while.
func (d *Door) expireLoans() {
	d.endLoans(func(_ uint32, z *lent) bool { return d.tick()-z.used > lendFor })
}

// ownShards returns a bit for each shard: whether this node answers for it.
func (d *Door) ownShards() ([]byte, error) {
	h := d.state.Holdings()
	if err := d.Current(); err != nil || h == nil {
		return nil, errors.Join(err, errQuestion)
	}
	b := make([]byte, 1+placement.Shards/8)
	for shard := range placement.Shards {
		if h.Answers(shard) {
			b[1+shard/8] |= 1 << (shard % 8)
		}
	}
	return b, nil
}

// loan is a part that another node lends, as this node knows it.
type loan struct {
	number, version, seq, size uint64
	senders                    []byte
}

// parseLoan reads the answer to askLend, and returns the first piece behind it.
func parseLoan(b []byte) (z loan, rest []byte, err error) {
	c := wire.Reader{Rest: b}
	z.number, z.version, z.seq, z.size = c.Uvarint(), c.Uvarint(), c.Uvarint(), c.Uvarint()
	z.senders = c.Bytes()
	if c.Bad || z.size > math.MaxInt64 {
		return z, nil, errAnswer
	}
	return z, c.Rest, nil
}

// parsePiece reads a piece: behind pieces with a checksum it has to make up the one that it says.
func parsePiece(b []byte, before uint32) (piece []byte, off int64, sum uint32, err error) {
	c := wire.Reader{Rest: b}
	at, want := c.Uvarint(), c.Take(4)
	if c.Bad || at > math.MaxInt64 || len(c.Rest) == 0 {
		return nil, 0, 0, errAnswer
	}
	if sum = crc32.Update(before, castagnoli, c.Rest); sum != binary.LittleEndian.Uint32(want) {
		return nil, 0, 0, errAnswer
	}
	return c.Rest, int64(at), sum, nil
}
