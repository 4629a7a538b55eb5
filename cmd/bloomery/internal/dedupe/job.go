// Job, one run over an input.

package dedupe

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"

	"github.com/bloomery/bloomery/cmd/bloomery/internal/lines"
	"github.com/bloomery/bloomery/hashing"
)

// Job is one run over an input. One of Seen, Recent and Exact must be given; Key
// is that of the Exact, if there is one.
type Job struct {
	_ struct{}

	// Input is what is read. Of the headers of its files, if they have some, the
	// first is written.
	Input *lines.Input
	Out   io.Writer
	Seen  *Seen
	Exact *Exact
	// Recent must be open.
	Recent *Recent
	// Key says what of a line is compared.
	Key lines.Key
	// Duplicates writes the lines that came before instead of the new ones.
	Duplicates bool
	// Workers is how many goroutines split and hash; 0 stands for one less
	// than there are processors.
	Workers int

	sum    Summary
	places string // of the columns of Key, in the file that was begun first
	begun  bool   // a file was begun
}

// Summary is what a Job did. Headers are not counted.
type Summary struct {
	In      uint64 // lines read
	Out     uint64 // lines written
	Dropped uint64 // lines not written
	Late    uint64 // of those written, how many were undecided until the end
	Bytes   uint64 // read, after decompression
	// Separated reports whether a line had the delimiter of the Key's columns, or
	// there are no columns.
	Separated bool
}

// scratch is what a worker leaves for the one who asks the memory.
type scratch struct {
	hashes []uint64 // for a Seen
	sums   []hash   // for an Exact
	wanted []bool
	keys   lines.Keys
	// separated reports whether a line has the delimiter.
	separated bool
}

// maxWorkers bounds the blocks of lines on their way, and so their memory, on
// machines with many processors: one goroutine decides on all lines, and few that
// hash keep it busy.
const maxWorkers = 8

// Run reads all lines and writes those that are wanted. What it returns counts
// what was done until an error came; that is one of the files, of Out, of the
// temporary folder or of ctx. The memory is closed by the caller.
func (j *Job) Run(ctx context.Context) (Summary, error) {
	if j.Exact != nil {
		j.Exact.Key, j.Exact.Duplicates = j.Key, j.Duplicates
		if err := j.Exact.Open(); err != nil {
			return j.sum, err
		}
	}
	workers := j.Workers
	if workers == 0 {
		workers = min(max(1, runtime.GOMAXPROCS(0)-1), maxWorkers)
	}
	err := lines.Process(ctx, j.Input, workers, j.hash, j.emit)
	if err == nil && j.Exact != nil {
		err = j.rest(ctx)
	}
	return j.sum, err
}

// hash puts the hashes of a batch's keys into its scratch.
func (j *Job) hash(b *lines.Batch, s *scratch) error {
	n := len(b.Records)
	s.wanted = slices.Grow(s.wanted[:0], n)[:n]
	s.separated = j.Key.Separates(b.Records)
	if j.Exact != nil {
		s.sums = slices.Grow(s.sums[:0], n)[:n]
		for i, key := range s.keys.Of(&j.Key, b) {
			s.sums[i] = j.Exact.hash(0, key)
		}
		return nil
	}
	h := hashing.Hasher{}
	s.hashes = slices.Grow(s.hashes[:0], n)[:n]
	h.HashKeys(s.hashes, s.keys.Of(&j.Key, b))
	return nil
}

// emit asks the memory about the lines of a batch and writes those wanted.
func (j *Job) emit(b *lines.Batch, s *scratch) error {
	j.sum.Bytes += uint64(len(b.Data))
	j.sum.Separated = j.sum.Separated || s.separated
	if b.First {
		if err := j.begin(b); err != nil {
			return err
		}
	}
	if err := j.judge(b, s); err != nil {
		return err
	}
	kept, out := b.Keep(s.wanted)
	j.sum.In += uint64(len(b.Records))
	j.sum.Out += uint64(kept)
	j.sum.Dropped = j.sum.In - j.sum.Out
	if len(out) == 0 {
		return nil
	}
	_, err := j.Out.Write(out)
	return err
}

// begin looks at the header of a file, and writes that of the first one. Columns
// with names must be where they were in the first file: the output is one table.
func (j *Job) begin(b *lines.Batch) error {
	j.sum.Bytes += uint64(len(b.Header))
	key := b.Located(&j.Key)
	places := key.Columns.Places()
	if j.begun {
		if places != j.places {
			return fmt.Errorf("%s: the columns %s are at %s, and at %s in the first file", b.Name, key.Columns, places, j.places)
		}
		return nil
	}
	j.begun, j.places = true, places
	if j.Exact != nil {
		j.Exact.Key = *key
	}
	if len(b.Header) == 0 {
		return nil
	}
	_, err := j.Out.Write(b.Header)
	return err
}

// judge finds out which lines of a batch are wanted.
func (j *Job) judge(b *lines.Batch, s *scratch) error {
	switch {
	case j.Exact != nil && j.Exact.Texts:
		return j.judgeTexts(b, s)
	case j.Exact != nil:
		return j.judgeHashes(b, s)
	}
	if j.Recent != nil {
		j.Recent.AddHashes(s.wanted, s.hashes)
	} else {
		j.Seen.AddHashes(s.wanted, s.hashes)
	}
	j.invert(s.wanted)
	return nil
}

// invert makes the wanted lines of new ones.
func (j *Job) invert(fresh []bool) {
	if !j.Duplicates {
		return
	}
	for i, f := range fresh {
		fresh[i] = !f
	}
}

// judgeHashes is judge for an Exact with hashes.
func (j *Job) judgeHashes(b *lines.Batch, s *scratch) error {
	done := 0
	if j.Exact.rest == nil {
		done = j.Exact.addAll(s.wanted, s.sums)
		j.invert(s.wanted[:done])
		if done == len(s.sums) {
			return nil
		}
		if err := j.Exact.spill(); err != nil {
			return err
		}
	}
	return j.Exact.rest.take(b, done, s.sums[done:], s.wanted[done:])
}

// judgeTexts is judge for an Exact with texts.
func (j *Job) judgeTexts(b *lines.Batch, s *scratch) error {
	want := isNew
	if j.Duplicates {
		want = isOld
	}
	keys := s.keys.Of(&j.Key, b)
	for i := range b.Records {
		v, err := j.Exact.root.judge(j.sum.In+uint64(i), b.Line(i), keys[i], s.sums[i])
		if err != nil {
			return err
		}
		s.wanted[i] = v == want
	}
	return nil
}

// rest writes the lines whose time came at the end.
func (j *Job) rest(ctx context.Context) error {
	var err error
	before := j.sum.Out
	switch {
	case j.Exact.Texts:
		err = j.restOfTexts(ctx)
	case j.Exact.rest != nil:
		err = j.Exact.rest.end(ctx, j.Input, func(b *lines.Batch, wanted []bool) error {
			n, out := b.Keep(wanted)
			j.sum.Out += uint64(n)
			_, err := j.Out.Write(out)
			return err
		})
	}
	j.sum.Late = j.sum.Out - before
	j.sum.Dropped = j.sum.In - j.sum.Out
	return err
}

func (j *Job) restOfTexts(ctx context.Context) error {
	separator := byte('\n')
	if j.Input.Zero {
		separator = 0
	}
	out := &lineWriter{w: bufio.NewWriterSize(j.Out, mostFile), separator: separator, count: j.Exact.Count}
	err := j.Exact.root.end(ctx, out)
	j.sum.Out += out.n
	if err != nil {
		return err
	}
	return out.w.Flush()
}

// lineWriter is the sink that is the output.
type lineWriter struct {
	w         *bufio.Writer
	separator byte
	count     bool
	n         uint64
}

// put implements sink. The errors of a bufio.Writer stay, so one is looked at.
func (l *lineWriter) put(_, count uint64, text []byte) error {
	l.n++
	if l.count {
		b := strconv.AppendUint(l.w.AvailableBuffer(), count, 10)
		_, _ = l.w.Write(append(b, '\t'))
	}
	_, _ = l.w.Write(text)
	if err := l.w.WriteByte(l.separator); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	return nil
}
