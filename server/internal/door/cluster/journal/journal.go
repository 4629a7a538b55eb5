// Package journal writes down what messages do while a cluster is copied, in the form of the log of a
// single server.
package journal

import (
	"errors"
	"fmt"
	"sync"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/door/cluster/messages"
	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/store"
)

const (
	// frameBytes is how much is gathered before it is written, fileBytes where a
	// file ends: a recovery reads one at a time into memory.
	frameBytes = 256 << 10
	fileBytes  = 8 << 20
	// Suffix ends the name of a journal's file in the folder of a node.
	Suffix = ".backup"
)

// Journal notes what is applied on this node, in the order in which it is: the log of
// a single server that has the same state. Records of a part are noted under the lock
// of the part, those of the catalogue under its lock.
//
// Safe for concurrent use, but for Starts and Names, which are for a journal that is closed.
type Journal struct {
	files  folder.Files
	prefix string // of the names of its files

	mu     sync.Mutex // guards what follows; nothing is locked under it
	effect store.Effect
	buf    []byte // room for the header of a frame, then records
	end    uint64 // position behind the last record
	file   folder.File
	size   int64    // of file
	starts []uint64 // of all files
	marks  []marks  // by lane
	err    error    // it is of no use any more
}

// New begins a journal whose files nobody else has: prefix is of it alone.
func New(files folder.Files, prefix string) *Journal {
	j := &Journal{files: files, prefix: prefix, buf: make([]byte, folder.FrameHeader), end: folder.CopyStart}
	j.err = j.begin()
	return j
}

// Name is that of a file in the folder of the node. It is not that of a log, which
// only the folder of a single server has.
func (j *Journal) Name(start uint64) string {
	return fmt.Sprintf("%s-%020d%s", j.prefix, start, Suffix)
}

// Starts are the positions at which its files begin.
func (j *Journal) Starts() []uint64 { return j.starts }

// Names are those of all files.
func (j *Journal) Names() (names []string) {
	for _, start := range j.starts {
		names = append(names, j.Name(start))
	}
	return names
}

// begin begins the next file.
func (j *Journal) begin() error {
	f, err := j.files.Create(j.Name(j.end))
	if err == nil {
		j.file, j.size, j.starts = f, 0, append(j.starts, j.end)
	}
	return err
}

// Add notes what a record has done. A nil journal notes nothing. The members of the
// cluster are not part of the data.
func (j *Journal) Add(r *store.Record, res *store.Result) {
	if j == nil || r.OfCluster() {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		return
	}
	j.effect.Add(r, res)
	records, long := j.effect.Take()
	j.write(records, long...)
}

// write appends encoded records. The caller holds j.mu.
func (j *Journal) write(records []byte, more ...[]byte) {
	before := len(j.buf)
	j.buf = append(j.buf, records...)
	for _, piece := range more {
		j.buf = append(j.buf, piece...)
	}
	j.end += uint64(len(j.buf) - before)
	if len(j.buf) >= frameBytes {
		j.err = j.flush()
	}
}

// marks are the positions of a journal behind the messages of a lane, those after first in their
// order.
type marks struct {
	begun     bool
	first     uint64
	positions []uint64 // behind first, and behind each message after it
}

// Track says that messages of so many lanes are marked, of each from a message on.
func (j *Journal) Track(lanes int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.marks = make([]marks, lanes)
}

// From says that messages of a lane behind one are in the journal.
func (j *Journal) From(lane int, seq uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.marks[lane] = marks{true, seq, []uint64{j.end}}
}

// Mark notes that a message of a lane is in the journal.
func (j *Journal) Mark(lane int, seq uint64) {
	if j == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if lane >= len(j.marks) || !j.marks[lane].begun || seq <= j.marks[lane].first {
		return
	}
	m := &j.marks[lane]
	if seq != m.first+uint64(len(m.positions)) {
		j.err = errors.Join(j.err, fmt.Errorf("cluster: journal: message %d of lane %d is missing", seq, lane))
		return
	}
	m.positions = append(m.positions, j.end)
}

// At returns the position behind a message, which is in the journal.
func (j *Journal) At(p messages.Place) (uint64, error) {
	if p.Lane < len(j.marks) {
		if m := &j.marks[p.Lane]; p.Seq >= m.first && p.Seq-m.first < uint64(len(m.positions)) {
			return m.positions[p.Seq-m.first], nil
		}
	}
	return 0, fmt.Errorf("cluster: journal: %w: message %d of lane %d is not there", bloomery.ErrCorrupt, p.Seq, p.Lane)
}

// Pass notes a record of a part that other nodes hold, as it is: they have frozen the part at some
// message, and what the records behind that do follows from them alone. A condition does not: the
// version of a part is in no copy.
func (j *Journal) Pass(r *store.Record) {
	if j == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.err != nil:
	case r.Expects():
		j.err = ErrWatched
	default:
		j.write(store.AppendRecord(nil, r))
	}
}

// ErrWatched is why a copy has to be made again.
var ErrWatched = errors.New("cluster: a transaction that watches a filter of another node came while the copy was made: make the copy again")

// flush writes what was gathered as a frame.
func (j *Journal) flush() error {
	n := len(j.buf) - folder.FrameHeader
	if n == 0 {
		return nil
	}
	start := j.end - uint64(n)
	folder.SealFrame(j.buf, folder.LogFrame, start, start)
	_, err := j.file.Write(j.buf)
	j.size += int64(len(j.buf))
	j.buf = j.buf[:folder.FrameHeader]
	if err == nil && j.size >= fileBytes {
		if err = j.file.Close(); err == nil {
			j.file = nil
			err = j.begin()
		}
	}
	return err
}

// Position is behind all that was noted.
func (j *Journal) Position() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.end
}

// Close writes the rest.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	err := j.err
	if err == nil {
		err = j.flush()
	}
	if j.file != nil {
		err = errors.Join(err, j.file.Close())
		j.file = nil
	}
	return err
}
