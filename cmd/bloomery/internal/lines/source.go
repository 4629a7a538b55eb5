// How a file is read in batches of whole records.

package lines

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
)

var errNoName = errors.New("the name of a file is empty: is a variable not set?")

// reader reads one file after the other.
type reader struct {
	in    *Input
	names []string // still to be read
	now   *source
}

// next fills b with the next records. The error is io.EOF behind the last file.
func (r *reader) next(b *Batch) error {
	for {
		if r.now == nil {
			if len(r.names) == 0 {
				return io.EOF
			}
			s, err := r.in.open(r.names[0])
			if err != nil {
				return err
			}
			r.now, r.names = s, r.names[1:]
		}
		if err := r.now.next(b); !errors.Is(err, io.EOF) {
			return err
		}
		r.close()
	}
}

// close closes the file that is being read.
func (r *reader) close() {
	if r.now != nil {
		r.now.close()
		r.now = nil
	}
}

// source is the file that is being read.
type source struct {
	in     *Input
	name   string
	r      io.Reader
	close  func()
	first  bool
	offset int64  // of what the next batch begins with
	rest   []byte // read already: the beginning of the next record

	header  []byte
	located *Key
	second  *Key
}

// open opens a file and looks at its first bytes.
func (in *Input) open(name string) (*source, error) {
	s := &source{in: in, name: name, first: true, second: in.Second, close: func() {}}
	file := in.stdin()
	if name != stdinName {
		if name == "" {
			return nil, errNoName
		}
		f, err := os.Open(name)
		if err != nil {
			return nil, s.failed(err)
		}
		s.close = func() { _ = f.Close() } // it was only read
		file = f
	}
	if in.Plain {
		s.r = file
		return s, nil
	}
	r, closeReader, err := decompressed(&counter{file, in})
	if err != nil {
		s.close()
		return nil, s.failed(err)
	}
	closeFile := s.close
	s.r, s.close = r, func() { closeReader(); closeFile() }
	if in.raw() {
		return s, nil
	}
	text, skipped, err := asText(r)
	if err != nil {
		s.close()
		return nil, s.failed(err)
	}
	s.r, s.offset = text, int64(skipped)
	return s, nil
}

// failed names the file in an error, once.
func (s *source) failed(err error) error {
	if s.in.Plain {
		return err
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	name := s.name
	if name == stdinName {
		name = "standard input"
	}
	return fmt.Errorf("%s: %w", name, err)
}

// next fills b with the records that one read brings, or more if that is not
// one whole record. The error is io.EOF behind the last.
func (s *source) next(b *Batch) error {
	buf := slices.Grow(b.buf[:0], max(s.in.block(), len(s.rest)+1))
	// The rest may lie in the same memory, further behind, or in that of a batch
	// on its way: behind its Data, where nobody writes.
	buf = append(buf, s.rest...)
	s.rest = nil
	for {
		from := len(buf)
		var err error
		if buf, err = s.read(buf); err != nil && !errors.Is(err, io.EOF) {
			return s.failed(err)
		}
		if err != nil { // the end
			if len(buf) == 0 {
				return io.EOF
			}
			if _, open := s.recordsEnd(buf, 0); open {
				return s.failed(openQuote(s.offset))
			}
			if buf[len(buf)-1] != s.in.separator() {
				buf = append(buf, s.in.separator())
			}
			return s.hand(b, buf, len(buf))
		}
		if end, _ := s.recordsEnd(buf, from); end > 0 {
			return s.hand(b, buf, end)
		}
		if len(s.in.line(buf)) > s.in.maxLine() {
			return tooLong(s.name, s.offset, s.in.maxLine())
		}
	}
}

// recordsEnd returns where the last whole record of buf ends, 0 if there is
// none, and whether buf ends within quotes. What is before from holds no end.
func (s *source) recordsEnd(buf []byte, from int) (end int, open bool) {
	if s.in.Quoted != "" {
		return recordsEnd(buf, s.in.Quoted)
	}
	if i := bytes.LastIndexByte(buf[from:], s.in.separator()); i >= 0 {
		return from + i + 1, false
	}
	return 0, false
}

// hand makes the first n bytes of buf the batch, without a header.
func (s *source) hand(b *Batch, buf []byte, n int) (err error) {
	from := 0
	if s.first && s.in.Header {
		if from, err = s.takeHeader(buf[:n]); err != nil {
			return err
		}
	}
	*b = Batch{
		Name: s.name, First: s.first, Offset: s.offset + int64(from), Header: s.header, Records: b.Records, ends: b.ends,
		Data: buf[from:n:n], buf: buf, located: s.located, second: s.second, arguments: s.in.Arguments,
	}
	s.rest = buf[n:]
	s.first = false
	s.offset += int64(n)
	return nil
}

// emptyReads is how many reads in a row may bring nothing.
const emptyReads = 100

// read reads once into the room behind buf, which it makes if there is none.
func (s *source) read(buf []byte) ([]byte, error) {
	if cap(buf)-len(buf) < 1 {
		buf = slices.Grow(buf, len(buf)) // twice the room, so that long lines are copied few times
	}
	for range emptyReads {
		n, err := s.r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if n > 0 && errors.Is(err, io.EOF) {
			return buf, nil // the reader will say it again
		}
		if n > 0 || err != nil {
			return buf, err
		}
	}
	return buf, io.ErrNoProgress
}

// counter counts what is read from the files.
type counter struct {
	r  io.Reader
	in *Input
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.in.done.Add(int64(n))
	return n, err
}
