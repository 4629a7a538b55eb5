package cluster

// What a node gives to others that fetch its snapshot.

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/bloomery/bloomery/server/internal/door/cluster/claims"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/snapshot"
	"github.com/bloomery/bloomery/server/internal/wire"
)

// A node that lacks what the log no longer has fetches the snapshot of another one:
// it asks for a hold, which keeps the files open and the log behind them, reads the
// files in pieces, and lets go when it is current.
//
//	question: askHold                               answer: number of the hold, files: (name, size) each
//	question: askRead, hold, file, offset, length   answer: the piece
//	question: askRelease, hold                      answer: nothing
//
// An answer begins with a byte: 0, or 1 and a text that says why there is none.
const (
	askHold    = 1
	askRead    = 2
	askRelease = 3

	answerGiven   = 0
	answerRefused = 1
)

const (
	fetchPiece = 512 << 10 // of a file, in an answer
	fetchOpen  = 8         // questions at once
	fetchWait  = 10 * time.Second
	maxHolds   = 4
	holdFor    = 10 * time.Minute // without a question
	copyFor    = time.Minute
	quietFor   = 30 * time.Second // without a question, while others wait
	maxFiles   = 1 << 20          // of a snapshot
)

// hold is a snapshot that another node fetches, or a copy that a client reads.
type hold struct {
	held *snapshot.Held
	used time.Duration // as Door.tick counts
	own  []string      // files that go with it
	over chan struct{} // closed with it: other nodes let go of what they hold for it; nil if none do
}

// limit is how long it is kept without a question. A node that fetches asks for no more
// while it catches up; a client reads all the time.
func (h *hold) limit() time.Duration {
	if h.held.Manifest == nil {
		return copyFor
	}
	return holdFor
}

// question answers another node. The first byte says what is asked.
func (d *Door) question(q []byte) []byte { return d.respond(q, func() {}) }

// respond is question where others wait meanwhile: aside is called first by what waits for something, or
// takes long.
func (d *Door) respond(q []byte, aside func()) []byte {
	if len(q) == 0 || q[0] != askRun {
		aside()
	}
	b, err := d.answer(q, aside)
	if err != nil {
		return append([]byte{answerRefused}, err.Error()...)
	}
	return b
}

func (d *Door) answer(q []byte, aside func()) ([]byte, error) {
	if len(q) == 0 {
		return nil, errQuestion
	}
	switch q[0] {
	case claims.Ask:
		return d.judge(q[1:])
	case askRun:
		return d.answerRun(q[1:], aside)
	case askGather:
		return d.openGather(q[1:])
	}
	var v [4]uint64
	c, n := wire.Reader{Rest: q[1:]}, 0
	for ; n < len(v) && len(c.Rest) > 0; n++ {
		v[n] = c.Uvarint()
	}
	switch {
	case c.Bad || len(c.Rest) > 0:
	case q[0] == askHold && n == 0:
		return d.openHold()
	case q[0] == askRead && n == 4:
		return d.readHold(v[0], v[1], v[2], v[3])
	case q[0] == askHealth && n == 0:
		return d.asVoter(Voters.Healthy)
	case q[0] == askPromote && n == 0:
		return d.asVoter(Voters.Promote)
	case q[0] == askLend && n == 3:
		return d.openLoan(v[0], v[1], v[2])
	case q[0] == askPiece && n == 3:
		return d.readLoan(v[0], v[1], v[2])
	case q[0] == askReturn && n == 1:
		d.endLoans(func(learner uint32, _ *lent) bool { return uint64(learner) == v[0] })
		return []byte{answerGiven}, nil
	case q[0] == askShards && n == 0:
		return d.ownShards()
	case q[0] == askSizes && n == 0:
		return d.ownSizes(), nil
	case q[0] == askRelease && n == 1:
		d.closeHold(v[0])
		return []byte{answerGiven}, nil
	}
	return nil, errQuestion
}

var (
	errQuestion = errors.New("cluster: this release does not know the question")
	errNoHold   = errors.New("cluster: no such hold")
	errNotYet   = errors.New("cluster: the snapshot is being taken")
	errHolds    = fmt.Errorf("cluster: %d others fetch a snapshot or a copy already", maxHolds)
)

// openHold holds the last snapshot open. If there is none it begins one.
func (d *Door) openHold() ([]byte, error) {
	k := &d.keep
	if err := d.Current(); err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.taken == nil {
		_ = d.StartSnapshot() // or one is being taken
		return nil, errNotYet
	}
	if !d.roomForHold() {
		return nil, errHolds
	}
	held, err := snapshot.Hold(d.config.Files, nil)
	if err != nil {
		return nil, err
	}
	if len(held.Manifest.Lanes) != len(d.all()) {
		return nil, errors.Join(errNotYet, held.Close())
	}
	if err := d.bare(held); err != nil {
		return nil, errors.Join(err, held.Close())
	}
	return d.giveHold(held), nil
}

// giveHold makes files that are held open a hold, and returns what another node is told of it. The
// caller holds keep.mu.
func (d *Door) giveHold(held *snapshot.Held) []byte {
	number := d.addHold(&hold{held: held})
	d.noteKept()
	b := binary.AppendUvarint([]byte{answerGiven}, number)
	for i, name := range held.Names {
		b = wire.AppendBytes(b, name)
		b = binary.AppendUvarint(b, uint64(held.Readers[i].Size()))
	}
	return b
}

// addHold gives a hold its number. The caller holds keep.mu.
func (d *Door) addHold(h *hold) uint64 {
	k := &d.keep
	if k.holds == nil {
		k.holds = map[uint64]*hold{}
	}
	k.last++
	h.used = d.tick()
	k.holds[k.last] = h
	return k.last
}

// heldFile returns a file that is held, if it has the piece that is to be read.
func (d *Door) heldFile(number, file, off, length uint64) (folder.Reader, error) {
	d.keep.mu.Lock()
	defer d.keep.mu.Unlock()
	h := d.keep.holds[number]
	if h == nil || file >= uint64(len(h.held.Readers)) {
		return nil, errNoHold
	}
	h.used = d.tick()
	r := h.held.Readers[file]
	if size := uint64(r.Size()); off > size || length > size-off || length > fetchPiece {
		return nil, errQuestion
	}
	return r, nil
}

// readHold reads a piece of a file that is held.
func (d *Door) readHold(number, file, off, length uint64) ([]byte, error) {
	r, err := d.heldFile(number, file, off, length)
	if err != nil {
		return nil, err
	}
	b := make([]byte, 1+length)
	if n, err := r.ReadAt(b[1:], int64(off)); uint64(n) < length { // at the end of the file there may be io.EOF as well
		return nil, err
	}
	return b, nil
}

// roomForHold reports whether there may be one hold more. It ends the one that was
// quiet for longest to make room: a node that dies while it fetches, and starts again,
// leaves one behind each time, and would have to wait until they end by themselves. The
// caller holds keep.mu.
func (d *Door) roomForHold() bool {
	k := &d.keep
	if len(k.holds) < maxHolds {
		return true
	}
	if d.nextRoom() > 0 {
		return false
	}
	d.dropHold(d.quietest())
	return true
}

// quietest returns the hold that nobody has asked for longest; there is one.
func (d *Door) quietest() uint64 {
	holds := d.keep.holds
	return slices.MinFunc(slices.Collect(maps.Keys(holds)), func(a, b uint64) int { return cmp.Compare(holds[a].used, holds[b].used) })
}

// nextRoom returns after how long one hold ends if nobody asks for it.
func (d *Door) nextRoom() time.Duration {
	if len(d.keep.holds) < maxHolds {
		return 0
	}
	return max(0, quietFor-(d.tick()-d.keep.holds[d.quietest()].used))
}

// closeHold lets go of the files.
func (d *Door) closeHold(number uint64) {
	d.keep.mu.Lock()
	defer d.keep.mu.Unlock()
	d.dropHold(number)
}

// dropHold is closeHold for a caller that holds keep.mu.
func (d *Door) dropHold(number uint64) {
	k := &d.keep
	if h := k.holds[number]; h != nil {
		_ = h.held.Close() // it was only read
		d.removeAll(h.own)
		if h.over != nil {
			close(h.over)
		}
		delete(k.holds, number)
		d.noteKept()
	}
}

// expireHolds lets go of what nobody asks for any more.
func (d *Door) expireHolds() {
	d.keep.mu.Lock()
	var old []uint64
	for number, h := range d.keep.holds {
		if limit := h.limit(); d.tick()-h.used > limit {
			old = append(old, number)
		}
	}
	d.keep.mu.Unlock()
	for _, number := range old {
		d.closeHold(number)
	}
}
