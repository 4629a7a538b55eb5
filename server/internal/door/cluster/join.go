package cluster

// How a node fetches the snapshot of another one.

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/snapshot"
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
func (d *Door) question(q []byte) []byte {
	b, err := d.answer(q)
	if err != nil {
		return append([]byte{answerRefused}, err.Error()...)
	}
	return b
}

func (d *Door) answer(q []byte) ([]byte, error) {
	if len(q) == 0 {
		return nil, errQuestion
	}
	var v [4]uint64
	rest, n := q[1:], 0
	for ; n < len(v) && len(rest) > 0; n++ {
		size := 0
		if v[n], size = binary.Uvarint(rest); size <= 0 {
			return nil, errQuestion
		}
		rest = rest[size:]
	}
	switch {
	case len(rest) > 0:
	case q[0] == askHold && n == 0:
		return d.openHold()
	case q[0] == askRead && n == 4:
		return d.readHold(v[0], v[1], v[2], v[3])
	case q[0] == askHealth && n == 0:
		return d.tellHealth()
	case q[0] == askPromote && n == 0:
		return d.promote()
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
	if k.files == nil {
		return nil, errNothingKept
	}
	if err := d.Serving(); err != nil {
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
	held, err := snapshot.Hold(k.files, nil)
	if err != nil {
		return nil, err
	}
	if len(held.Manifest.Lanes) != len(d.all()) {
		return nil, errors.Join(errNotYet, held.Close())
	}
	number := d.addHold(&hold{held: held})
	d.noteKept()
	b := binary.AppendUvarint([]byte{answerGiven}, number)
	for i, name := range held.Names {
		b = binary.AppendUvarint(b, uint64(len(name)))
		b = append(b, name...)
		b = binary.AppendUvarint(b, uint64(held.Readers[i].Size()))
	}
	return b, nil
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

// readHold reads a piece of a file that is held.
func (d *Door) readHold(number, file, off, length uint64) ([]byte, error) {
	d.keep.mu.Lock()
	h := d.keep.holds[number]
	if h == nil || file >= uint64(len(h.held.Readers)) {
		d.keep.mu.Unlock()
		return nil, errNoHold
	}
	h.used = d.tick()
	r := h.held.Readers[file]
	d.keep.mu.Unlock()
	if size := uint64(r.Size()); off > size || length > size-off || length > fetchPiece {
		return nil, errQuestion
	}
	b := make([]byte, 1+length)
	if _, err := r.ReadAt(b[1:], int64(off)); err != nil && !errors.Is(err, io.EOF) {
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
	quiet := slices.MinFunc(slices.Collect(maps.Keys(k.holds)), func(a, b uint64) int {
		return cmp.Compare(k.holds[a].used, k.holds[b].used)
	})
	if d.tick()-k.holds[quiet].used < quietFor {
		return false
	}
	d.dropHold(quiet)
	return true
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

// fetched is a hold of another node.
type fetched struct {
	node   uint32
	number uint64
}

// releaseFetched lets go of what was fetched: this node has what it needs.
func (d *Door) releaseFetched() {
	f := d.keep.fetched
	if f == nil {
		return
	}
	d.keep.fetched = nil
	ctx, cancel := context.WithTimeout(context.Background(), fetchWait)
	defer cancel()
	_, _ = d.ask(ctx, f.node, question(askRelease, f.number)) // it ends by itself too
}

// fetch puts the snapshot of another node into the folder. It tries all that it hears
// of, again and again.
func (d *Door) fetch(ctx context.Context) (*snapshot.Manifest, uint32, error) {
	if d.config.Peers == nil {
		return nil, 0, ErrPurged
	}
	d.releaseFetched()
	var mu sync.Mutex
	heard := map[uint32]bool{}
	stop, err := d.config.Peers.Serve(0, func(b []byte) {
		if v, err := parseBeat(b, beatCluster(b)); err == nil && (d.id.Load() == 0 || beatCluster(b) == d.id.Load()) {
			mu.Lock()
			heard[v.node] = true
			mu.Unlock()
		}
	}, func([]byte) []byte { return []byte{answerRefused} })
	if err != nil {
		return nil, 0, err
	}
	defer stop()
	last := errors.New("no other node has been heard from")
	for told := d.tick(); ; {
		mu.Lock()
		nodes := slices.Sorted(maps.Keys(heard))
		mu.Unlock()
		for _, node := range nodes {
			m, err := d.fetchFrom(ctx, node)
			if err == nil {
				return m, node, nil
			}
			if _, own := errors.AsType[*folderError](err); own {
				return nil, 0, err
			}
			last = fmt.Errorf("node %d: %w", node, err)
		}
		if now := d.tick(); now-told > 5*time.Second {
			told = now
			d.config.Slog.Info("waiting for a snapshot of another node", "last", last)
		}
		if err := d.pause(ctx, askEvery/4); err != nil {
			return nil, 0, errors.Join(err, last)
		}
	}
}

// beatCluster returns of which cluster a beat is.
func beatCluster(b []byte) uint64 {
	if len(b) < 9 {
		return 0
	}
	return binary.LittleEndian.Uint64(b[1:])
}

func question(kind byte, numbers ...uint64) []byte {
	b := []byte{kind}
	for _, v := range numbers {
		b = binary.AppendUvarint(b, v)
	}
	return b
}

// ask asks another node and returns its answer.
func (d *Door) ask(ctx context.Context, node uint32, q []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchWait)
	defer cancel()
	b, err := d.config.Peers.Ask(ctx, node, q)
	switch {
	case err != nil:
		return nil, err
	case len(b) == 0 || b[0] > answerRefused:
		return nil, errAnswer
	case b[0] == answerRefused:
		return nil, errors.New(string(b[1:]))
	}
	return b[1:], nil
}

var errAnswer = fmt.Errorf("cluster: answer: %w", bloomery.ErrCorrupt)

// remote is a file that another node holds open.
type remote struct {
	name string
	size uint64
}

// parseHold reads the answer to askHold: the manifest and part files, and no other.
func parseHold(b []byte) (number uint64, files []remote, err error) {
	next := func() uint64 {
		v, size := binary.Uvarint(b)
		if size <= 0 {
			err, b = errAnswer, nil
			return 0
		}
		b = b[size:]
		return v
	}
	number = next()
	seen := map[string]bool{}
	for len(b) > 0 && err == nil {
		length := next()
		if length > uint64(len(b)) || len(files) >= maxFiles {
			return 0, nil, errAnswer
		}
		name := string(b[:length])
		b = b[length:]
		size := next()
		_, part := folder.ParsePartName(name)
		if !part && name != folder.Manifest || part == (len(files) == 0) || seen[name] || size > 1<<62 {
			return 0, nil, errAnswer
		}
		seen[name] = true
		files = append(files, remote{name, size})
	}
	if len(files) == 0 && err == nil {
		err = errAnswer
	}
	return number, files, err
}

// fetchFrom puts the snapshot of a node into the folder. What the folder had is not
// needed any more; only the number of this node stays.
func (d *Door) fetchFrom(ctx context.Context, node uint32) (*snapshot.Manifest, error) {
	b, err := d.ask(ctx, node, question(askHold))
	if err != nil {
		return nil, err
	}
	number, list, err := parseHold(b)
	if err != nil {
		return nil, err
	}
	from := &fetched{node, number}
	var text bytes.Buffer
	err = d.fetchFile(ctx, from, 0, list[0].size, &text)
	var m *snapshot.Manifest
	if err == nil {
		in := &folder.Memory{}
		in.Put(folder.Manifest, text.Bytes())
		m, err = snapshot.Read(in)
	}
	if err == nil {
		_, _, _, err = laneStates(m)
	}
	if err == nil {
		err = d.fetchParts(ctx, from, list)
	}
	if err == nil {
		m.Node = d.number.Load()
		err = inFolder(m.Install(d.keep.files))
	}
	d.keep.fetched = from
	if err != nil {
		d.releaseFetched()
		return nil, err
	}
	return m, nil
}

// folderError is an error of this node's own folder: no other node can help.
type folderError struct{ err error }

func (e *folderError) Error() string { return e.err.Error() }
func (e *folderError) Unwrap() error { return e.err }

func inFolder(err error) error {
	if err == nil {
		return nil
	}
	return &folderError{err}
}

// fetchParts replaces the part files of the folder.
func (d *Door) fetchParts(ctx context.Context, from *fetched, list []remote) error {
	if err := d.clearFolder(); err != nil {
		return inFolder(err)
	}
	for i := 1; i < len(list); i++ {
		f, err := d.keep.files.Create(list[i].name)
		if err != nil {
			return inFolder(err)
		}
		err = d.fetchFile(ctx, from, uint64(i), list[i].size, f)
		if err == nil {
			err = inFolder(f.Sync())
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return inFolder(d.keep.files.Sync())
}

// clearFolder removes the snapshot of the folder. The number of the node stays.
func (d *Door) clearFolder() error {
	files := d.keep.files
	if old := d.keep.found; old != nil { // it must not name files of another snapshot
		d.keep.found = nil
		forget := func() error { return files.Remove(folder.Manifest) }
		if old.Node != 0 {
			forget = func() error { return d.keepNumber(old.Cluster, old.Node) }
		}
		if err := forget(); err != nil {
			return err
		}
	}
	names, err := files.List()
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, part := folder.ParsePartName(name); part {
			if err := files.Remove(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// fetchFile writes a file that another node holds to w: several pieces are asked for
// at once, and written in order.
func (d *Door) fetchFile(ctx context.Context, from *fetched, file, size uint64, w io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type piece struct {
		data []byte
		err  error
	}
	pieces := make(chan chan piece, fetchOpen)
	go func() {
		defer close(pieces)
		for off := uint64(0); off < size; off += fetchPiece {
			length := min(fetchPiece, size-off)
			answer := make(chan piece, 1)
			select {
			case pieces <- answer:
			case <-ctx.Done():
				return
			}
			go func() {
				data, err := d.ask(ctx, from.node, question(askRead, from.number, file, off, length))
				if err == nil && uint64(len(data)) != length {
					err = errAnswer
				}
				answer <- piece{data, err}
			}()
		}
	}()
	written := uint64(0)
	for answer := range pieces {
		p := <-answer
		if p.err != nil {
			return p.err
		}
		if _, err := w.Write(p.data); err != nil {
			return inFolder(err)
		}
		written += uint64(len(p.data))
	}
	if written != size {
		return ctx.Err()
	}
	return nil
}
