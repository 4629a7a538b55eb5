// Exact, which loses no line.

package dedupe

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/zeebo/xxh3"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/cmd/bloomery/internal/lines"
	"github.com/bloomery/bloomery/internal/memory"
)

// MinExact is the least memory that an Exact works with.
const MinExact = 256 << 10

// Sizes of the files that lines are spilled to. With many parts few lines need
// a second round, and with large buffers the disk is asked seldom; both take
// room from the lines.
const (
	manyFrom  = 8 << 20 // memory from which there are many parts
	manyBits  = 6
	fewBits   = 4
	leastFile = 4 << 10
	mostFile  = 64 << 10
	fileShare = 1024 // of the memory for each file

	// spareFiles are open beside the parts: what is read, what is written, and
	// the lines known to be duplicates.
	spareFiles = 3
	// mostLevels is how often texts are spilled again. Each level divides by 16
	// or more: only lines that were made to have equal hashes get so far.
	mostLevels = 24
)

// Exact loses no line. It keeps hashes, or the lines themselves if Texts is set.
// When memory is full, lines that are not known to be old are undecided: they go to
// files in a temporary folder, one part of all hashes to each, and are judged at the
// end, part by part:
//
//	lines ─► memory ─► new: out at once          old: dropped at once
//	           │
//	           └─ not in it, and it is full ─► undecided ─► out at the end
//
// A part that does not fit is divided again. All lines that the first pass let out
// come before those that were undecided, so order is kept. See undecided for hashes
// and node for texts.
//
// Close removes the folder. A writer needs exclusion.
type Exact struct {
	_ struct{}

	// Memory bounds sets and file buffers, in bytes, at least MinExact. With
	// Texts, a line longer than that is kept all the same, one at a time.
	Memory int
	// Temp is where the temporary folder is made, if it is needed; empty stands
	// for the place that the system has for that.
	Temp string
	// Seed is that of the hashes. If it cannot be guessed, nobody can make lines
	// whose hashes are equal.
	Seed uint64
	// Texts compares whole lines instead of hashes.
	Texts bool
	// Count keeps all lines to the end, to write each with how often it came.
	// It needs Texts.
	Count bool
	// Bounded returns an error that wraps ErrFull when memory is full, instead
	// of spilling. It keeps hashes of 128 bits, which a state holds.
	Bounded bool
	// Spilling is called once, when the first line is about to be spilled; nil
	// for nothing.
	Spilling func(distinct uint64)
	// Duplicates wants the lines that came before instead of the new ones.
	Duplicates bool
	// Key says what of a line is compared.
	Key lines.Key

	root    *node     // with Texts
	short   *shortSet // in the arena, without Texts and Bounded
	pairs   pairSet   // in the arena, if Bounded
	rest    *undecided
	arena   []byte
	buffer  int  // bytes of a file buffer
	bits    uint // of a part's number
	disk    disk
	newDisk func(parent string) (disk, error)
	files   int // made so far: gives them names
	opened  map[string]io.Closer
	writers []*bufio.Writer
	readers []*bufio.Reader
	keyBuf  []byte
	spilled uint64
}

// Open gets the memory. Run does that unless it was done before. Errors wrap
// ErrParameter or ErrTooLarge.
func (e *Exact) Open() error {
	if e.arena != nil {
		return nil
	}
	if err := checkMemory(e.Memory, MinExact); err != nil {
		return fmt.Errorf("dedupe: exact: %w", err)
	}
	if e.Count && !e.Texts || e.Bounded && e.Texts {
		return fmt.Errorf("dedupe: exact: %w: Count without Texts, or Bounded with them", bloomery.ErrParameter)
	}
	e.bits = fewBits
	if e.Memory >= manyFrom {
		e.bits = manyBits
	}
	e.buffer = max(leastFile, min(mostFile, e.Memory/fileShare))
	words, err := array((e.Memory - (1<<e.bits+spareFiles)*e.buffer) / 8)
	if err != nil {
		return fmt.Errorf("dedupe: exact: %w", err)
	}
	e.arena = bytesOf(words)
	if e.newDisk == nil {
		e.newDisk = newFolder
	}
	switch {
	case e.Texts:
		e.root = e.newNode(0)
	case e.Bounded:
		e.pairs = newPairSet(words)
	default:
		e.short = newShortSet(words)
	}
	return nil
}

// distinct returns how many different lines are in memory.
func (e *Exact) distinct() uint64 {
	switch {
	case e.Texts:
		return uint64(e.root.table.n)
	case e.Bounded:
		return uint64(e.pairs.n)
	}
	return uint64(e.short.n)
}

// addAll adds hashes, without Texts, and notes in fresh which were new, until
// memory is full. It returns how many it added or found.
func (e *Exact) addAll(fresh []bool, hs []hash) int {
	if e.Bounded {
		return e.pairs.addAll(fresh, hs)
	}
	return e.short.addAll(fresh, hs)
}

// spill is called when memory is full: what is not in it goes to the temporary
// folder from now on.
func (e *Exact) spill() (err error) {
	if e.Bounded {
		return fmt.Errorf("%w: memory holds %d different lines", bloomery.ErrFull, e.distinct())
	}
	if e.Spilling != nil {
		e.Spilling(e.distinct())
	}
	if !e.Texts {
		e.rest, err = e.newUndecided()
	}
	return err
}

// Spilled returns how many lines went to the temporary folder.
func (e *Exact) Spilled() uint64 { return e.spilled }

// Close gives the memory back and removes the temporary folder.
func (e *Exact) Close() error {
	err := memory.Unmap(e.arena)
	e.root, e.arena, e.pairs, e.short, e.rest = nil, nil, pairSet{}, nil, nil
	if e.disk == nil {
		return err
	}
	for _, f := range e.opened {
		_ = f.Close() // an error came first, or the job was ended
	}
	if failed := e.disk.close(); failed != nil {
		err = errors.Join(err, spillError(failed))
	}
	e.disk, e.opened = nil, nil
	return err
}

// levelStep makes the seeds of levels differ in many bits.
const levelStep = 0x9e3779b97f4a7c15

// hash returns the hash of a key for a level: lines that share a part of one
// level are spread over all parts of the next.
func (e *Exact) hash(level int, key []byte) hash {
	return xxh3.Hash128Seed(key, e.Seed+uint64(level)*levelStep)
}

// create begins a new file of records.
func (e *Exact) create() (*recordWriter, error) {
	if e.disk == nil {
		d, err := e.newDisk(e.Temp)
		if err != nil {
			return nil, spillError(err)
		}
		e.disk, e.opened = d, map[string]io.Closer{}
	}
	name := strconv.Itoa(e.files)
	e.files++
	f, err := e.disk.create(name)
	if err != nil {
		return nil, spillError(err)
	}
	e.opened[name] = f
	return &recordWriter{name: name, f: f, w: e.writer(f)}, nil
}

// finish ends a file of records. Its buffer serves others.
func (e *Exact) finish(r *recordWriter) error {
	err := r.close()
	delete(e.opened, r.name)
	e.writers = append(e.writers, r.w)
	return err
}

// reopen opens a file of records to be read.
func (e *Exact) reopen(name string) (*recordReader, error) {
	f, err := e.disk.open(name)
	if err != nil {
		return nil, spillError(err)
	}
	e.opened[name] = f
	return &recordReader{name: name, f: f, r: e.reader(f)}, nil
}

// consumed removes a file that was read.
func (e *Exact) consumed(r *recordReader) error {
	if err := errors.Join(e.release(r), e.disk.remove(r.name)); err != nil {
		return spillError(err)
	}
	return nil
}

// release closes a file that was read.
func (e *Exact) release(r *recordReader) error {
	e.readers = append(e.readers, r.r)
	delete(e.opened, r.name)
	if err := r.f.Close(); err != nil {
		return spillError(err)
	}
	return nil
}

func (e *Exact) writer(f io.Writer) *bufio.Writer {
	if n := len(e.writers); n > 0 {
		w := e.writers[n-1]
		e.writers = e.writers[:n-1]
		w.Reset(f)
		return w
	}
	return bufio.NewWriterSize(f, e.buffer)
}

func (e *Exact) reader(f io.Reader) *bufio.Reader {
	if n := len(e.readers); n > 0 {
		r := e.readers[n-1]
		e.readers = e.readers[:n-1]
		r.Reset(f)
		return r
	}
	return bufio.NewReaderSize(f, e.buffer)
}
