// Package local is the door of a single machine: records are ordered by the
// locks of what they change, applied in the caller's goroutine, and appended to
// a log.
//
//	Do ── lock part ── Admit, Apply, encode (per record) ── append (once) ── unlock
//	                                                           │
//	                                          buffer ── frame ─┴─► File
//
// The log is a sequence of frames, each a batch of records with its length and
// checksum. Files are reached through the small interface Files, which tests
// replace.
package local

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"sync"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/internal/door"
	"github.com/bloomery/bloomery/internal/store"
)

var _ door.Door = (*Door)(nil)

const (
	// frameBytes is how much is gathered before a frame is written.
	frameBytes = 64 << 10
	// frameHeader is version (4 bytes), length (4) and CRC-32C (4).
	frameHeader  = 12
	frameVersion = 1
)

// FirstLog is the name of the first log file: the position of its first byte.
const FirstLog = "00000000000000000000.log"

// castagnoli is read only once made.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Door is a door over a log file. Make it with Open.
//
// Safe for concurrent use.
type Door struct {
	state   *store.State
	effects sync.Pool // *store.Effect

	mu   sync.Mutex // the log's
	file File
	buf  []byte // frameHeader bytes, then records
	err  error  // the first that the file returned: no write is acknowledged after it
}

// Open returns a door that changes state and logs to a new file of files.
func Open(state *store.State, files Files) (*Door, error) {
	f, err := files.Create(FirstLog)
	if err != nil {
		return nil, fmt.Errorf("local: open: %w", err)
	}
	d := &Door{state: state, file: f, buf: make([]byte, frameHeader, frameBytes+4096)}
	d.effects.New = func() any { return new(store.Effect) }
	return d, nil
}

// Do applies ops in order, each run on one part under one lock.
func (d *Door) Do(ops []*door.Op) {
	for len(ops) > 0 {
		n := 1
		if !ops[0].Record.Op.Part() {
			d.names(ops[0])
		} else {
			for n < len(ops) && ops[n].Record.Op.Part() && sameTarget(ops[n], ops[0]) {
				n++
			}
			d.part(ops[:n])
		}
		ops = ops[n:]
	}
}

func sameTarget(a, b *door.Op) bool {
	return a.Record.ID == b.Record.ID && a.Record.Index == b.Record.Index && (a.Admit == nil) == (b.Admit == nil)
}

// names applies a record of the catalogue.
func (d *Door) names(op *door.Op) {
	f := d.effects.Get().(*store.Effect)
	defer d.effects.Put(f)
	d.state.Names.Lock()
	defer d.state.Names.Unlock()
	d.apply(op, nil, f)
	d.append(f.Take())
	op.Result.Release()
}

// part applies a run of records of one part.
func (d *Door) part(ops []*door.Op) {
	p := ops[0].Part
	if p == nil {
		if e := d.state.Names.ByID(ops[0].Record.ID); e != nil {
			p = store.PartOf(e)
		}
	}
	if p == nil {
		for _, op := range ops {
			op.Result.Err = store.ErrRetry
		}
		return
	}
	f := d.effects.Get().(*store.Effect)
	defer d.effects.Put(f)
	p.Lock()
	defer p.Unlock()
	d.admit(ops, p, f)
	d.append(f.Take())
}

// admit asks for the memory of a run and applies it. If there is not enough for
// all, it asks for one record after the other.
func (d *Door) admit(ops []*door.Op, p *store.Part, f *store.Effect) {
	admit := ops[0].Admit
	if admit == nil {
		for _, op := range ops {
			d.apply(op, p, f)
		}
		return
	}
	aside, ok := admit.Admit(p, ops)
	if ok {
		for _, op := range ops {
			d.apply(op, p, f)
		}
		admit.Settle(aside)
		return
	}
	if len(ops) == 1 {
		res := &ops[0].Result
		res.Err, res.Changed, res.Done = door.ErrMemory, false, 0
		return
	}
	for i := range ops {
		d.admit(ops[i:i+1], p, f)
	}
}

func (d *Door) apply(op *door.Op, p *store.Part, f *store.Effect) {
	store.Apply(d.state, &op.Record, p, &op.Result)
	f.Add(&op.Record, &op.Result)
}

// append adds encoded records to the log. The caller holds the lock of what
// they changed, so the order of the log is the order of Apply.
func (d *Door) append(records []byte) {
	if len(records) == 0 {
		return
	}
	d.mu.Lock()
	d.buf = append(d.buf, records...)
	if len(d.buf) >= frameBytes {
		d.flush()
	}
	d.mu.Unlock()
}

// flush writes the buffer as one frame.
func (d *Door) flush() {
	if len(d.buf) == frameHeader {
		return
	}
	body := d.buf[frameHeader:]
	binary.LittleEndian.PutUint32(d.buf, frameVersion)
	binary.LittleEndian.PutUint32(d.buf[4:], uint32(len(body)))
	binary.LittleEndian.PutUint32(d.buf[8:], crc32.Checksum(body, castagnoli))
	if _, err := d.file.Write(d.buf); err != nil && d.err == nil {
		d.err = err
	}
	d.buf = d.buf[:frameHeader]
	if cap(d.buf) > 16*frameBytes {
		d.buf = make([]byte, frameHeader, frameBytes+4096)
	}
}

// Wait returns at once: ops were applied by Do, and this log promises no more
// than memory does.
func (d *Door) Wait([]*door.Op) {}

// Close writes what is buffered and closes the log.
func (d *Door) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.flush()
	if err := errors.Join(d.err, d.file.Close()); err != nil {
		return fmt.Errorf("local: close: %w", err)
	}
	return nil
}

// Replay applies every record of a log to state. The error wraps
// bloomery.ErrCorrupt or bloomery.ErrVersion and names the offset.
func Replay(state *store.State, log []byte) error {
	for at := 0; at < len(log); {
		body, err := frame(log[at:])
		if err != nil {
			return fmt.Errorf("local: replay: offset %d: %w", at, err)
		}
		if err := replayFrame(state, body); err != nil {
			return fmt.Errorf("local: replay: frame at offset %d: %w", at, err)
		}
		at += frameHeader + len(body)
	}
	return nil
}

func frame(log []byte) ([]byte, error) {
	if len(log) < frameHeader {
		return nil, fmt.Errorf("%w: frame header cut short", bloomery.ErrCorrupt)
	}
	if v := binary.LittleEndian.Uint32(log); v != frameVersion {
		return nil, fmt.Errorf("%w: frame %d", bloomery.ErrVersion, v)
	}
	n := uint64(binary.LittleEndian.Uint32(log[4:]))
	if n > uint64(len(log)-frameHeader) {
		return nil, fmt.Errorf("%w: frame cut short", bloomery.ErrCorrupt)
	}
	body := log[frameHeader : frameHeader+n]
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(log[8:]) {
		return nil, fmt.Errorf("%w: frame checksum", bloomery.ErrCorrupt)
	}
	return body, nil
}

func replayFrame(state *store.State, body []byte) error {
	var res store.Result
	for len(body) > 0 {
		r, n, err := store.DecodeRecord(body)
		if err != nil {
			return err
		}
		body = body[n:]
		if !r.Op.Part() {
			state.Names.Lock()
			store.Apply(state, &r, nil, &res)
			res.Release()
			state.Names.Unlock()
			continue
		}
		var p *store.Part
		if e := state.Names.ByID(r.ID); e != nil {
			p = store.PartOf(e)
		}
		if p != nil {
			p.Lock()
		}
		store.Apply(state, &r, p, &res)
		if p != nil {
			p.Unlock()
		}
	}
	return nil
}
