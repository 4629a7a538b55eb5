package dedupe

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"runtime"
	"strconv"

	"github.com/bloomery/bloomery/cmd/bloomery/internal/lines"
	"github.com/bloomery/bloomery/hashing"
)

// block is how much is read at once: blocks that several goroutines work on
// stay in the caches of their cores, and there are few of them.
const block = 256 << 10

// Job is one run over an input. One of Seen and Exact must be given; Key is
// that of the Exact, if there is one.
type Job struct {
	_ struct{}

	Input *lines.Input
	Out   io.Writer
	Seen  *Seen
	Exact *Exact
	// Key says what of a line is compared.
	Key Key
	// Header takes the first line of each file as a header: that of the first
	// file is written, those of others are not.
	Header bool
	// Duplicates writes the lines that came before instead of the new ones.
	Duplicates bool
	// Workers is how many goroutines split and hash; 0 stands for one less
	// than there are processors.
	Workers int

	sum    Summary
	headed bool // a header was written
}

// Summary is what a Job did. Headers are not counted.
type Summary struct {
	In      uint64 // lines read
	Out     uint64 // lines written
	Dropped uint64 // lines not written
	Bytes   uint64 // read, after decompression
}

// scratch is what a worker leaves for the one who asks the memory.
type scratch struct {
	hashes []uint64
	wanted []bool
	key    []byte
}

// Run reads all lines and writes those that are wanted. What it returns counts
// what was done until an error came; that is one of the files, of Out, of the
// temporary folder or of ctx. An Exact is closed by then.
func (j *Job) Run(ctx context.Context) (sum Summary, err error) {
	if j.Exact != nil {
		j.Exact.Key, j.Exact.Duplicates = j.Key, j.Duplicates
		if err := j.Exact.open(); err != nil {
			return j.sum, err
		}
		defer func() {
			if e := j.Exact.Close(); err == nil {
				err = e
			}
		}()
	}
	if j.Input.Block == 0 {
		j.Input.Block = block
	}
	workers := j.Workers
	if workers == 0 {
		workers = max(1, runtime.GOMAXPROCS(0)-1)
	}
	err = lines.Process(ctx, j.Input, workers, j.hash, j.emit)
	if err == nil && j.Exact != nil {
		err = j.rest(ctx)
	}
	return j.sum, err
}

// hash puts the hashes of a batch's keys into its scratch.
func (j *Job) hash(b *lines.Batch, s *scratch) error {
	h := hashing.Hasher{}
	n := len(b.Records)
	if cap(s.hashes) < n {
		s.hashes, s.wanted = make([]uint64, n+n/4), make([]bool, n+n/4)
	}
	s.hashes, s.wanted = s.hashes[:n], s.wanted[:n]
	if j.Key.whole() {
		h.HashKeys(s.hashes, b.Records)
		return nil
	}
	for i, r := range b.Records {
		var key []byte
		key, s.key = j.Key.of(r, s.key)
		s.hashes[i] = h.Hash(key)
	}
	return nil
}

// emit asks the memory about the lines of a batch and writes those wanted.
func (j *Job) emit(b *lines.Batch, s *scratch) error {
	j.sum.Bytes += uint64(len(b.Data))
	first := 0
	if j.Header && b.First {
		first = 1
		s.wanted[0] = !j.headed
		j.headed = true
	}
	if err := j.judge(b, s, first); err != nil {
		return err
	}
	kept, out := keep(b, s.wanted)
	for _, w := range s.wanted[:first] {
		if w {
			kept--
		}
	}
	n := uint64(len(b.Records) - first)
	j.sum.In += n
	j.sum.Out += uint64(kept)
	j.sum.Dropped = j.sum.In - j.sum.Out
	if len(out) == 0 {
		return nil
	}
	_, err := j.Out.Write(out)
	return err
}

// judge finds out which lines of a batch are wanted, from the first on that is
// no header.
func (j *Job) judge(b *lines.Batch, s *scratch, first int) error {
	wanted, hashes := s.wanted[first:], s.hashes[first:]
	if j.Exact != nil {
		return j.judgeExactly(b.Records[first:], wanted, hashes, s)
	}
	j.Seen.AddHashes(wanted, hashes)
	if j.Duplicates {
		for i, w := range wanted {
			wanted[i] = !w
		}
	}
	return nil
}

func (j *Job) judgeExactly(records [][]byte, wanted []bool, hashes []uint64, s *scratch) error {
	want := isNew
	if j.Duplicates {
		want = isOld
	}
	for i, r := range records {
		var key []byte
		key, s.key = j.Key.of(r, s.key)
		v, err := j.Exact.root.judge(j.sum.In+uint64(i), r, key, hashes[i])
		if err != nil {
			return err
		}
		wanted[i] = v == want
	}
	return nil
}

// keep moves the wanted records of a batch together, to the front of its data,
// and returns their number and bytes.
func keep(b *lines.Batch, wanted []bool) (n int, out []byte) {
	at := 0
	for i := 0; i < len(wanted); {
		if !wanted[i] {
			i++
			continue
		}
		from := i
		for i < len(wanted) && wanted[i] {
			i++
		}
		n += i - from
		at += copy(b.Data[at:], b.Span(from, i))
	}
	return n, b.Data[:at]
}

// rest writes the lines whose time came at the end.
func (j *Job) rest(ctx context.Context) error {
	separator := byte('\n')
	if j.Input.Zero {
		separator = 0
	}
	out := &lineWriter{w: bufio.NewWriterSize(j.Out, mostFile), separator: separator, count: j.Exact.Count}
	err := j.Exact.root.end(ctx, out)
	j.sum.Out += out.n
	j.sum.Dropped = j.sum.In - j.sum.Out
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
