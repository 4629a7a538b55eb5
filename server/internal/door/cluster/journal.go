package cluster

// Journal: what messages do while a copy is made, as the log of a single server.

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"github.com/bloomery/bloomery/server/internal/folder"
	"github.com/bloomery/bloomery/server/internal/store"
)

const (
	// journalStart is the first position of a journal. It is not 0, so that its files
	// without the manifest are never taken for a whole log.
	journalStart = 1
	// journalFrame is how much is gathered before it is written, journalFile where a
	// file ends: a recovery reads one at a time into memory.
	journalFrame = 256 << 10
	journalFile  = 64 << 20
	// copySuffix ends the name of a journal's file in the folder of a node.
	copySuffix = ".backup"
)

// journal notes what is applied on this node, in the order in which it is: the log of
// a single server that has the same state. Records of a part are noted under the lock
// of the part, those of the catalogue under its lock.
type journal struct {
	files  folder.Files
	prefix string // of the names of its files

	mu     sync.Mutex // guards what follows; nothing is locked under it
	effect store.Effect
	buf    []byte // room for the header of a frame, then records
	end    uint64 // position behind the last record
	file   folder.File
	size   int64    // of file
	starts []uint64 // of all files
	err    error    // it is of no use any more
}

// newJournal begins a journal whose files nobody else has: prefix is of it alone.
func newJournal(files folder.Files, prefix string) *journal {
	j := &journal{files: files, prefix: prefix, buf: make([]byte, folder.FrameHeader), end: journalStart}
	j.err = j.begin()
	return j
}

// name is that of a file in the folder of the node. It is not that of a log, which
// only the folder of a single server has.
func (j *journal) name(start uint64) string {
	return fmt.Sprintf("%s-%020d%s", j.prefix, start, copySuffix)
}

// names are those of all files.
func (j *journal) names() (names []string) {
	for _, start := range j.starts {
		names = append(names, j.name(start))
	}
	return names
}

// begin begins the next file.
func (j *journal) begin() error {
	f, err := j.files.Create(j.name(j.end))
	if err == nil {
		j.file, j.size, j.starts = f, 0, append(j.starts, j.end)
	}
	return err
}

// add notes what a record has done. A nil journal notes nothing. The members of the
// cluster are not part of the data.
func (j *journal) add(r *store.Record, res *store.Result) {
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
	before := len(j.buf)
	j.buf = append(j.buf, records...)
	for _, piece := range long {
		j.buf = append(j.buf, piece...)
	}
	j.end += uint64(len(j.buf) - before)
	if len(j.buf) >= journalFrame {
		j.err = j.flush()
	}
}

// flush writes what was gathered as a frame.
func (j *journal) flush() error {
	n := len(j.buf) - folder.FrameHeader
	if n == 0 {
		return nil
	}
	start := j.end - uint64(n)
	folder.SealFrame(j.buf, folder.LogFrame, start, start)
	_, err := j.file.Write(j.buf)
	j.size += int64(len(j.buf))
	j.buf = j.buf[:folder.FrameHeader]
	if err == nil && j.size >= journalFile {
		if err = j.file.Close(); err == nil {
			j.file = nil
			err = j.begin()
		}
	}
	return err
}

// position is behind all that was noted.
func (j *journal) position() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.end
}

// close writes the rest.
func (j *journal) close() error {
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

// removeAll removes files that nobody needs.
func (d *Door) removeAll(names []string) {
	for _, name := range names {
		if err := d.config.Files.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			d.config.Slog.Warn("cannot remove a file that is not needed", "file", name, "error", err)
		}
	}
}

// removeCopies removes what copies of an earlier process have left.
func (d *Door) removeCopies() error {
	names, err := d.config.Files.List()
	if err != nil {
		return err
	}
	var old []string
	for _, name := range names {
		if strings.HasSuffix(name, copySuffix) {
			old = append(old, name)
		}
	}
	d.removeAll(old)
	return nil
}
