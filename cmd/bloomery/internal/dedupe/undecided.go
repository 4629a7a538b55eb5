// Lines that memory has no room for, by their hashes.

package dedupe

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/cmd/bloomery/internal/lines"
)

// undecided are lines that are not known when memory is full. Each is written once,
// to the log, and its hash to one of the parts. At the end the parts are judged one
// after the other, each of which fits into memory or is divided again, and leave the
// numbers of the lines that are wanted; then the log is read, and these are let out:
//
//	lines ─┬─► log ─────────────────────────────────────────┐
//	       └─► hashes: part 0 .. 63 ─► memory ─► numbers ───┴─► out
type undecided struct {
	e     *Exact
	log   *recordWriter
	parts []*recordWriter
	// known are duplicates that are known as such, and wanted: they wait as well, so
	// that order is kept.
	known *recordWriter
	n     uint64 // lines in the log
}

// A record of a part is a hash, as far as it is compared, and how much higher the
// number of its line is than that of the record before. A record of numbers is the
// latter alone. A gap of skip is that of no line: another one follows.
const (
	hashRecord   = 16
	numberRecord = 4
	skip         = math.MaxUint32
	blockRecords = 4096
)

// levels is how often hashes can be divided by so many bits: as long as they have
// some.
func levels(bits uint) int { return int(32 / bits) }

func (e *Exact) newUndecided() (*undecided, error) {
	u := &undecided{e: e}
	var err error
	if u.log, err = e.create(); err != nil {
		return nil, err
	}
	if e.Duplicates {
		if u.known, err = e.create(); err != nil {
			return nil, err
		}
	}
	u.parts, err = e.createParts()
	return u, err
}

// createParts begins a file for each part.
func (e *Exact) createParts() (parts []*recordWriter, err error) {
	parts = make([]*recordWriter, 1<<e.bits)
	for i := range parts {
		if parts[i], err = e.create(); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// part returns the number of a hash's part on a level.
func (e *Exact) part(h hash, level int) int {
	return int(h.Lo << (e.bits * uint(level)) >> (64 - e.bits))
}

// take decides on the records of a batch from the first on, as far as it can.
// None of them is wanted now.
func (u *undecided) take(b *lines.Batch, first int, sums []hash, known []bool) error {
	u.e.short.containsAll(known, sums)
	from := first
	for i, h := range sums {
		old := known[i]
		known[i] = false
		var err error
		switch {
		case !old:
			err = u.parts[u.e.part(h, 0)].putHash(u.n, h)
			u.e.spilled++
		case u.known != nil:
			err = u.known.putNumber(u.n)
		default:
			err = u.append(b.Span(from, first+i))
			from = first + i + 1
			u.n--
		}
		if err != nil {
			return err
		}
		u.n++
	}
	return u.append(b.Span(from, first+len(sums)))
}

// append adds lines to the log, each with its separator.
func (u *undecided) append(text []byte) error {
	if _, err := u.log.w.Write(text); err != nil {
		return spillError(err)
	}
	return nil
}

// end judges all parts, and hands the lines of the log on with whether they are
// wanted.
func (u *undecided) end(ctx context.Context, in *lines.Input, emit func(b *lines.Batch, wanted []bool) error) error {
	if err := u.e.finish(u.log); err != nil {
		return err
	}
	var runs []string
	if u.known != nil {
		if err := u.e.finish(u.known); err != nil {
			return err
		}
		runs = append(runs, u.known.name)
	}
	judged, err := u.e.judgeParts(ctx, u.parts, 0)
	if err != nil {
		return err
	}
	wanted, err := u.e.openNumbers(append(runs, judged...))
	if err != nil {
		return err
	}
	log, err := u.e.reopen(u.log.name)
	if err != nil {
		return err
	}
	again := &lines.Input{Stdin: logReader{log.f}, Plain: true, Zero: in.Zero, Raw: in.Raw, Quoted: in.Quoted, MaxLine: in.MaxLine, Block: in.Block}
	var flags []bool
	err = lines.Process(ctx, again, 1, nil, func(b *lines.Batch, _ *struct{}) error {
		flags = slices.Grow(flags[:0], len(b.Records))[:len(b.Records)]
		for i := range flags {
			if flags[i], err = wanted.next(); err != nil {
				return err
			}
		}
		return emit(b, flags)
	})
	return errors.Join(err, u.e.consumed(log), wanted.close())
}

// logReader is the log, whose errors are those of the temporary folder.
type logReader struct{ r io.Reader }

// Read implements io.Reader.
func (l logReader) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = spillError(err)
	}
	return n, err
}

// judgeParts judges all parts of a level and returns the files of numbers.
func (e *Exact) judgeParts(ctx context.Context, parts []*recordWriter, level int) (runs []string, err error) {
	for _, p := range parts { // all buffers are free before the next are needed
		if err := e.finish(p); err != nil {
			return nil, err
		}
	}
	for _, p := range parts {
		if p.n == 0 {
			if err := e.disk.remove(p.name); err != nil {
				return nil, spillError(err)
			}
			continue
		}
		run, err := e.judgePart(ctx, p.name, level)
		if err != nil {
			return nil, err
		}
		runs = append(runs, run)
	}
	return runs, nil
}

// judgePart writes the numbers of the wanted lines of a part to a file, whose name it
// returns. The part is removed.
func (e *Exact) judgePart(ctx context.Context, name string, level int) (string, error) {
	e.short.clear()
	out, err := e.create()
	if err != nil {
		return "", err
	}
	fresh, full := make([]bool, blockRecords), false
	err = e.eachHash(ctx, name, func(hs []hash, numbers []uint64) error {
		if full = e.short.addAll(fresh, hs) < len(hs); full {
			return io.EOF
		}
		for i, number := range numbers {
			if fresh[i] == e.Duplicates {
				continue
			}
			if err := out.putNumber(number); err != nil {
				return err
			}
		}
		return nil
	})
	if err := errors.Join(err, e.finish(out)); err != nil {
		return "", err
	}
	run := out.name
	if full {
		if err := e.disk.remove(run); err != nil {
			return "", spillError(err)
		}
		if run, err = e.divide(ctx, name, level+1); err != nil {
			return "", err
		}
	}
	if err := e.disk.remove(name); err != nil {
		return "", spillError(err)
	}
	return run, nil
}

// divide is judgePart for a part that does not fit into memory: it is divided by
// other bits of its hashes.
func (e *Exact) divide(ctx context.Context, name string, level int) (run string, err error) {
	if level == levels(e.bits) {
		return "", fmt.Errorf("%w: lines with equal hashes do not fit into memory", bloomery.ErrTooLarge)
	}
	parts, err := e.createParts()
	if err != nil {
		return "", err
	}
	err = e.eachHash(ctx, name, func(hs []hash, numbers []uint64) error {
		for i, h := range hs {
			if err := parts[e.part(h, level)].putHash(numbers[i], h); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	runs, err := e.judgeParts(ctx, parts, level)
	if err != nil {
		return "", err
	}
	return e.mergeNumbers(ctx, runs)
}

// mergeNumbers makes one file of numbers of several.
func (e *Exact) mergeNumbers(ctx context.Context, runs []string) (string, error) {
	all, err := e.openNumbers(runs)
	if err != nil {
		return "", err
	}
	out, err := e.create()
	if err != nil {
		return "", err
	}
	for number := uint64(0); err == nil && !all.ended(); number++ {
		var is bool
		if is, err = all.next(); is && err == nil {
			err = out.putNumber(number)
		}
		if number%checkEvery == 0 {
			err = errors.Join(err, ctx.Err())
		}
	}
	return out.name, errors.Join(err, e.finish(out), all.close())
}

// eachHash calls f for the records of a part, block by block, until it returns an
// error; io.EOF is none.
func (e *Exact) eachHash(ctx context.Context, name string, f func(hs []hash, numbers []uint64) error) error {
	in, err := e.reopen(name)
	if err != nil {
		return err
	}
	block := make([]byte, blockRecords*hashRecord)
	hs, numbers := make([]hash, 0, blockRecords), make([]uint64, 0, blockRecords)
	for number := uint64(0); err == nil; {
		var n int
		if n, err = in.block(block, hashRecord); err != nil {
			break
		}
		hs, numbers = hs[:0], numbers[:0]
		for b := block[:n]; len(b) > 0; b = b[hashRecord:] {
			gap := binary.LittleEndian.Uint32(b[12:])
			if number += uint64(gap); gap != skip {
				hs = append(hs, hash{Hi: binary.LittleEndian.Uint64(b), Lo: uint64(binary.LittleEndian.Uint32(b[8:])) << 32})
				numbers = append(numbers, number)
			}
		}
		if err = f(hs, numbers); err == nil {
			err = ctx.Err()
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return errors.Join(err, e.release(in))
}

// putHash adds a record of a part.
func (r *recordWriter) putHash(number uint64, h hash) error {
	b := r.w.AvailableBuffer()
	for ; number-r.last >= skip; r.last += skip {
		b = binary.LittleEndian.AppendUint32(append(b, make([]byte, hashRecord-numberRecord)...), skip)
	}
	b = binary.LittleEndian.AppendUint64(b, h.Hi)
	b = binary.LittleEndian.AppendUint32(b, uint32(h.Lo>>32))
	return r.putGap(b, number)
}

// putNumber adds a number, which is above that before, or the first one.
func (r *recordWriter) putNumber(number uint64) error {
	b := r.w.AvailableBuffer()
	for ; number-r.last >= skip; r.last += skip {
		b = binary.LittleEndian.AppendUint32(b, skip)
	}
	return r.putGap(b, number)
}

// putGap ends a record.
func (r *recordWriter) putGap(b []byte, number uint64) error {
	b = binary.LittleEndian.AppendUint32(b, uint32(number-r.last))
	r.last = number
	r.n++
	if _, err := r.w.Write(b); err != nil {
		return spillError(err)
	}
	return nil
}

// block reads as many records as there are and buf has room for; the error is io.EOF
// behind the last.
func (r *recordReader) block(buf []byte, record int) (int, error) {
	n, err := io.ReadFull(r.r, buf)
	switch {
	case errors.Is(err, io.EOF):
		return 0, io.EOF
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return 0, spillError(err)
	case n%record != 0:
		return 0, spillError(errors.New("a file has changed"))
	}
	return n, nil
}

// windowBits is how many numbers are looked at together.
const windowBits = 1 << 20

// numbers are several files of numbers, as one set that is asked for 0, 1, 2 and so
// on. It marks the numbers of a window, file by file.
type numbers struct {
	e      *Exact
	files  []*recordReader
	heads  []uint64 // the next number of each file
	marked []uint64 // bits of the window
	at     uint64   // the next number
}

func (e *Exact) openNumbers(names []string) (*numbers, error) {
	s := &numbers{e: e, marked: make([]uint64, windowBits/64)}
	for _, name := range names {
		f, err := e.reopen(name)
		if err != nil {
			return nil, err
		}
		s.files, s.heads = append(s.files, f), append(s.heads, 0)
		if err := s.advance(len(s.files) - 1); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// none is behind the last number of a file.
const none = math.MaxUint64

// advance reads the next number of a file.
func (s *numbers) advance(i int) error {
	for {
		b, err := s.files[i].r.Peek(numberRecord)
		switch {
		case errors.Is(err, io.EOF) && len(b) == 0:
			s.heads[i] = none
			return nil
		case err != nil:
			return spillError(err)
		}
		gap := binary.LittleEndian.Uint32(b)
		_, _ = s.files[i].r.Discard(numberRecord) // it was seen
		if s.heads[i] += uint64(gap); gap != skip {
			return nil
		}
	}
}

// next reports whether the next number is in the set.
func (s *numbers) next() (bool, error) {
	in := s.at % windowBits
	if in == 0 {
		if err := s.mark(); err != nil {
			return false, err
		}
	}
	s.at++
	return s.marked[in/64]>>(in%64)&1 != 0, nil
}

// mark marks the numbers of the window that begins.
func (s *numbers) mark() error {
	clear(s.marked)
	for i := range s.files {
		for s.heads[i]-s.at < windowBits {
			in := s.heads[i] - s.at
			s.marked[in/64] |= 1 << (in % 64)
			if err := s.advance(i); err != nil {
				return err
			}
		}
	}
	return nil
}

// ended reports whether no number is left.
func (s *numbers) ended() bool {
	if s.at%windowBits != 0 {
		return false
	}
	for _, head := range s.heads {
		if head != none {
			return false
		}
	}
	return true
}

// close removes the files.
func (s *numbers) close() error {
	var err error
	for _, f := range s.files {
		err = errors.Join(err, s.e.consumed(f))
	}
	return err
}
