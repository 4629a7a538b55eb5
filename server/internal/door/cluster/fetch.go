package cluster

// How a node fetches the snapshot of another one.

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/door/cluster/heartbeat"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/peers"
	"github.com/bloomery/bloomery/server/internal/snapshot"
	"github.com/bloomery/bloomery/server/internal/wire"
)

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
	_, _ = d.ask(ctx, f.node, question(askRelease, f.number), 0) // it ends by itself too
}

// fetch fills the state and the folder with the snapshot of another node. It tries all
// that it hears of, again and again.
func (d *Door) fetch(ctx context.Context) error {
	if d.config.Peers == nil {
		return ErrPurged
	}
	d.releaseFetched()
	if err := d.tidy(); err != nil {
		return inFolder(err)
	}
	var mu sync.Mutex
	heard := map[uint32]bool{}
	stop, err := d.config.Peers.Serve(0, func(b []byte) {
		if v, err := heartbeat.Parse(b, heartbeat.ClusterOf(b)); err == nil && (d.id.Load() == 0 || heartbeat.ClusterOf(b) == d.id.Load()) {
			mu.Lock()
			heard[v.Node] = true
			mu.Unlock()
			d.know(&v)
		}
	}, func([]byte) []byte { return []byte{answerRefused} })
	if err != nil {
		return err
	}
	defer stop()
	last := errors.New("no other node has been heard from")
	for told := d.tick(); ; {
		mu.Lock()
		nodes := slices.Sorted(maps.Keys(heard))
		mu.Unlock()
		for _, node := range nodes {
			err := d.fetchFrom(ctx, node)
			if err == nil {
				d.config.Slog.Info("snapshot fetched", "node", node)
				return nil
			}
			if _, own := errors.AsType[*folderError](err); own {
				return err
			}
			if errors.Is(err, bloomery.ErrCorrupt) {
				d.config.Slog.Warn("what was fetched is damaged", "node", node, "error", err)
			}
			last = fmt.Errorf("node %d: %w", node, err)
		}
		if now := d.tick(); now-told > 5*time.Second {
			told = now
			d.config.Slog.Info("waiting for a snapshot of another node", "last", last)
		}
		if err := d.pause(ctx, askEvery/4); err != nil {
			return errors.Join(err, last)
		}
	}
}

func question(kind byte, numbers ...uint64) []byte {
	b := []byte{kind}
	for _, v := range numbers {
		b = binary.AppendUvarint(b, v)
	}
	return b
}

// ask asks another node and returns its answer, of which so many bytes are expected.
func (d *Door) ask(ctx context.Context, node uint32, q []byte, expect int) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchWait)
	defer cancel()
	b, err := d.askNode(ctx, node, q, expect)
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
	c := wire.Reader{Rest: b}
	number = c.Uvarint()
	seen := map[string]bool{}
	for len(c.Rest) > 0 {
		name, size := string(c.Bytes()), c.Uvarint()
		_, part := folder.ParsePartName(name)
		if !part && name != folder.Manifest || part == (len(files) == 0) || seen[name] || size > 1<<62 || len(files) >= maxFiles {
			return 0, nil, errAnswer
		}
		seen[name] = true
		files = append(files, remote{name, size})
	}
	if c.Bad || len(files) == 0 {
		return 0, nil, errAnswer
	}
	return number, files, nil
}

// fetchFrom fills the state and the folder with the snapshot of a node. Its files are put
// beside those of this node, read and only then made its own, in one step: until then
// the folder has what it had, whoever dies meanwhile. Of that, the number of this node
// stays.
func (d *Door) fetchFrom(ctx context.Context, node uint32) error {
	b, err := d.ask(ctx, node, question(askHold), peers.MaxBody)
	if err != nil {
		return err
	}
	number, list, err := parseHold(b)
	if err != nil {
		return err
	}
	d.keep.fetched = &fetched{node, number}
	if err = d.fetchHeld(ctx, d.keep.fetched, list); err != nil {
		d.releaseFetched()
	}
	return err
}

// fetchHeld is fetchFrom for files that a node holds.
func (d *Door) fetchHeld(ctx context.Context, from *fetched, list []remote) error {
	var text bytes.Buffer
	if err := d.fetchFile(ctx, from, 0, list[0].size, &text); err != nil {
		return err
	}
	in := &folder.Memory{}
	in.Put(folder.Manifest, text.Bytes())
	m, err := snapshot.Read(in)
	if err == nil {
		err = disown(m)
	}
	if err != nil {
		return err
	}
	if err := d.roomFor(from.node, list); err != nil {
		return inFolder(err)
	}
	made, err := d.fetchParts(ctx, from, list, m)
	if err == nil {
		err = d.load(m)
		if err != nil && !errors.Is(err, errUnusable) { // else that of another node may be better
			err = inFolder(err)
		}
	}
	if err == nil {
		return inFolder(d.adopt(m))
	}
	d.removeAll(made)
	if errors.Is(err, syscall.ENOSPC) {
		err = inFolder(noRoom(from.node, list, err))
	}
	return err
}

// disown makes the snapshot of another node one of this node. Where contents are spread it
// has none of shards: others count on what this node says to have, and on its session to say
// that it has nothing.
func disown(m *snapshot.Manifest) error {
	roster, _, _, err := laneStates(m)
	if err == nil && roster.Spread() {
		m.Held, m.Fetched = nil, true
	}
	return err
}

// adopt makes a snapshot that was put beside that of this node the one of this node.
func (d *Door) adopt(m *snapshot.Manifest) error {
	m.Node = d.number.Load()
	if err := m.Install(d.config.Files); err != nil {
		return err // it may be in place all the same: nothing is removed
	}
	d.keep.found = m
	return d.tidy()
}

// tidy removes part files that the snapshot of this node does not need: those that it had
// before, or those that it was fetching when it died.
func (d *Door) tidy() error {
	m := d.keep.found
	if m == nil {
		m = snapshot.Empty()
	}
	names, err := d.config.Files.List()
	if err == nil {
		d.removeAll(snapshot.Unneeded(names, m))
	}
	return err
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

// roomFor reports whether there is room for the snapshot of a node beside what there is,
// where that can be known before.
func (d *Door) roomFor(node uint32, list []remote) error {
	free, known := folder.Free(d.config.Files)
	if known && free < sizeOf(list)+defaultAfter { // the log needs room as well
		return noRoom(node, list, fmt.Errorf("%d bytes are free: %w", free, syscall.ENOSPC))
	}
	return nil
}

func sizeOf(list []remote) (n uint64) {
	for _, f := range list {
		n += f.size
	}
	return n
}

func noRoom(node uint32, list []remote, err error) error {
	return fmt.Errorf("cluster: this node has to fetch the snapshot of node %d, and its disk has no room for %d bytes beside what it has: make room, or remove the files *.part of its folder if the other nodes are well: %w",
		node, sizeOf(list), err)
}

// fetchParts puts the part files of a snapshot into the folder, under numbers that none of
// its own has, and has m name them so. It returns which files it has made.
func (d *Door) fetchParts(ctx context.Context, from *fetched, list []remote, m *snapshot.Manifest) (made []string, err error) {
	next := uint64(0)
	if d.keep.found != nil {
		next = d.keep.found.Next
	}
	numbers := map[uint64]uint64{}
	for i := 1; i < len(list); i++ {
		number, _ := folder.ParsePartName(list[i].name)
		numbers[number] = next
		made = append(made, folder.PartName(next))
		if err := d.fetchPart(ctx, from, uint64(i), list[i].size, number, next); err != nil {
			return made, err
		}
		next++
	}
	for i := range m.Items {
		it := &m.Items[i]
		number, ok := numbers[it.File]
		if !ok && it.InFile() {
			return made, errAnswer
		}
		it.File = number
	}
	m.Next = max(m.Next, next)
	return made, inFolder(d.config.Files.Sync())
}

// fetchPart puts a part file into the folder, under another number.
func (d *Door) fetchPart(ctx context.Context, from *fetched, file, size, number, as uint64) error {
	f, err := d.config.Files.Create(folder.PartName(as))
	if err != nil {
		return inFolder(err)
	}
	w := &renumbered{number: number, to: folder.NewFrameWriter(f, folder.PartFrame, as)}
	err = d.fetchFile(ctx, from, file, size, w)
	if err == nil {
		err = w.end()
	}
	return errors.Join(err, f.Close())
}

// renumbered takes the bytes of a part file, and writes its frames to one that has another
// number. It checks them on the way.
type renumbered struct {
	number uint64
	off    uint64
	buf    []byte // the beginning of a frame
	to     *folder.FrameWriter
}

// Write implements io.Writer.
func (r *renumbered) Write(b []byte) (int, error) {
	r.buf = append(r.buf, b...)
	rest := r.buf
	for len(rest) >= folder.FrameHeader {
		n, err := folder.FrameLength(rest)
		if err != nil {
			return 0, err
		}
		if n += folder.FrameHeader; len(rest) < n {
			break
		}
		fr, err := folder.ParseFrame(rest[:n], folder.PartFrame)
		if err == nil && (fr.A != r.number || fr.B != r.off) {
			err = errAnswer
		}
		if err != nil {
			return 0, err
		}
		if err := r.to.Seal(append(r.to.Body(), fr.Body...)); err != nil {
			return 0, inFolder(err)
		}
		r.off += uint64(n)
		rest = rest[n:]
	}
	r.buf = append(r.buf[:0], rest...)
	return len(b), nil
}

// end makes the file durable.
func (r *renumbered) end() error {
	if len(r.buf) > 0 {
		return errAnswer // cut short
	}
	err := r.to.Flush()
	if err == nil {
		err = r.to.File.Sync()
	}
	return inFolder(err)
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
				data, err := d.ask(ctx, from.node, question(askRead, from.number, file, off, length), int(length))
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
			return err
		}
		written += uint64(len(p.data))
	}
	if written != size {
		return ctx.Err()
	}
	return nil
}
