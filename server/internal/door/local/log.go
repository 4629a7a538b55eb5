package local

// The log: records in files, written and synced.

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/folder"
)

const (
	// logFileBytes is where a log file ends and the next one begins.
	logFileBytes = 64 << 20
	// maxBuffered is how much may wait to be written before writers wait.
	maxBuffered = 8 << 20
	// maxPieces is how much may wait before those wait who write a long thing in
	// pieces: they write as fast as the disk, and would leave no room to others.
	maxPieces = 512 << 10
	// flushBytes is how much is gathered at most before it is written.
	flushBytes = 256 << 10
	// firstBuffer is where a buffer begins to grow.
	firstBuffer = 4 << 10
	// maxBuffer is the size up to which a buffer grows and is used again. A larger one would be
	// copied again and again while a transaction fills it and all others wait.
	maxBuffer = 1 << 20

	// everysec: an fsync begins syncEvery after the first record that it
	// makes durable, and a writer waits for it if it has not ended maxBehind
	// after that record.
	syncEvery = 500 * time.Millisecond
	maxBehind = time.Second
)

// log is a sequence of records in files. Records are appended to a buffer and
// written a frame at a time, by whoever needs it: a writer that must know them
// durable, one that finds the buffer full, or the door's background.
type log struct {
	files folder.Files
	fsync atomic.Uint32 // a Fsync
	tick  func() time.Duration
	limit int64         // of a file, and of a frame of several appends
	wake  chan struct{} // told when there is something to write

	io      sync.Mutex // one at a time writes; before mu. Many wait in together instead
	file    folder.File
	size    int64    // of the file
	pending block    // a frame that could not be written
	started []uint64 // where the files begin that a start may need, in order; the last is file
	spare   []byte

	// mu guards what follows; it is taken behind io.
	mu      sync.Mutex
	quiet   sync.Cond     // told when no group is open, and when moving ends
	buf     []byte        // room for a header, then records
	full    []block       // to be written before buf: a frame has a limit
	end     uint64        // position behind the last record
	written uint64        // position behind what the file has
	durable uint64        // position behind what the disk has
	group   bool          // between Begin and Commit
	moving  bool          // a name stands for other contents, and the record of that comes next
	taken   bool          // one writes for many
	turn    chan struct{} // closed when it has done so; nil if nobody waits for that
	bufAt   int64         // when the first record of buf came, as now counts

	fullBytes int // length of full
	long      int // of the frame that is being written, if it has long records

	longBytes atomic.Int64 // of all long records that are not written yet

	// attended reports that the door's background waits for its timer, by which it writes
	// and syncs in time: nobody else need look at the clock.
	attended atomic.Bool
	err      atomic.Pointer[logError]
	oldest   atomic.Int64 // when the first record that is not durable came; 0 if there is none
	buffered atomic.Int64
	syncs    atomic.Int64
	synced   atomic.Int64 // when the last of them ended; 0 if there was none
	failures atomic.Int64
}

// block is what a frame is made of: room for a header and records, and further
// records in pieces of memory that nobody changes.
type block struct {
	head []byte
	more [][]byte
	size int // of all
}

func blockOf(head []byte, more ...[]byte) block {
	b := block{head, more, len(head)}
	for _, m := range more {
		b.size += len(m)
	}
	return b
}

// logError is why writes are refused.
type logError struct {
	err   error
	final bool
	lost  bool // a file is missing: writes that succeed do not mend that
}

func (e *logError) Error() string { return e.err.Error() }
func (e *logError) Unwrap() error { return e.err }

// mode says when writes are durable.
func (l *log) mode() Fsync { return Fsync(l.fsync.Load()) }

// setMode changes when writes are durable: those of before are not less durable
// than they were to be, and those that come next as the new mode asks.
func (l *log) setMode(mode Fsync) {
	l.fsync.Store(uint32(mode))
	select {
	case l.wake <- struct{}{}: // what waits may be due now
	default:
	}
}

// begin starts a new file at position end; all before it is durable.
func (l *log) begin(end uint64) error {
	l.quiet.L = &l.mu
	l.end, l.written, l.durable = end, end, end
	l.buf = make([]byte, folder.FrameHeader, firstBuffer)
	l.wake = make(chan struct{}, 1)
	return l.create()
}

func (l *log) create() error {
	f, err := l.files.Create(folder.LogName(l.written))
	if err != nil {
		return err
	}
	if err := l.files.Sync(); err != nil {
		return errors.Join(err, f.Close())
	}
	l.file, l.size = f, 0
	if n := len(l.started); n == 0 || l.started[n-1] != l.written {
		l.started = append(l.started, l.written)
	}
	return nil
}

// append adds encoded records, and behind them long ones in pieces that nobody
// changes and that are not copied. The caller holds the lock of what they changed,
// so the order of the log is the order of Apply. It does not wait.
func (l *log) append(records []byte, long [][]byte) {
	size := len(records)
	for _, v := range long {
		size += len(v)
	}
	if size == 0 {
		return
	}
	l.mu.Lock()
	first := len(l.buf) == folder.FrameHeader && len(l.full) == 0
	if len(long) > 0 { // none of them is copied
		l.endFrame(nil)
	} else if most := min(l.limit, maxBuffer); int64(len(l.buf)+len(records)) > most { // the disk is behind
		l.endFrame(nil)
		l.buf = slices.Grow(l.buf, int(most)-len(l.buf)) // probably more comes
	}
	l.buf = append(l.buf, records...)
	if len(long) > 0 {
		l.endFrame(long)
	}
	l.end += uint64(size)
	if first {
		l.bufAt = l.now()
		if l.oldest.Load() == 0 {
			l.oldest.Store(l.bufAt)
		}
	}
	n := len(l.buf) + l.fullBytes
	l.buffered.Store(int64(n + l.long))
	l.mu.Unlock()
	if first || n >= flushBytes && n-size < flushBytes {
		select {
		case l.wake <- struct{}{}:
		default:
		}
	}
}

// endFrame ends the frame that is being filled, with long records at its end, unless
// there is nothing in it. The caller holds mu.
func (l *log) endFrame(long [][]byte) {
	if len(l.buf) == folder.FrameHeader && len(long) == 0 {
		return
	}
	b := blockOf(l.buf, long...)
	l.full = append(l.full, b)
	l.fullBytes += b.size
	if len(long) > 0 {
		l.longBytes.Add(int64(b.size))
	}
	l.buf = make([]byte, folder.FrameHeader)
}

// mark notes the beginning or the end of a group.
func (l *log) mark(open bool) {
	l.mu.Lock()
	l.group = open
	l.mu.Unlock()
	if !open {
		l.quiet.Broadcast()
	}
}

// move notes that a name is about to stand for other contents, or that the record which
// says so was appended.
func (l *log) move(begins bool) {
	l.mu.Lock()
	l.moving = begins
	l.mu.Unlock()
	if !begins {
		l.quiet.Broadcast()
	}
}

// settled is position for somebody who may have changed contents that have their name
// from a record that is not appended yet: without that, a start would find what he has
// written under no name. It waits for the record.
func (l *log) settled() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.moving {
		l.quiet.Wait()
	}
	return l.end
}

// position returns the position of the next record.
func (l *log) position() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end
}

// room waits until fewer bytes than most wait to be written, unless nothing can be.
func (l *log) room(most int64) {
	if !l.crowded(most) {
		return
	}
	_ = l.together(func() bool { return !l.crowded(most) }, func() error { // Refuses returns the error
		err := l.flush()
		if err == nil && l.behind() {
			err = l.sync()
		}
		return err
	})
}

// together has one of many callers do the work that all of them need, holding io. The
// others wait until it is done, and then all of them look whether that was enough: in a
// queue for io they would wait for those before them too, who may need another sync.
// The function done is called under mu.
func (l *log) together(done func() bool, work func() error) error {
	for {
		l.mu.Lock()
		if done() {
			l.mu.Unlock()
			return nil
		}
		if !l.taken {
			l.taken = true
			l.mu.Unlock()
			break
		}
		if l.turn == nil { // one who writes alone needs none
			l.turn = make(chan struct{})
		}
		turn := l.turn
		l.mu.Unlock()
		<-turn
	}
	defer func() {
		l.mu.Lock()
		if l.taken = false; l.turn != nil {
			close(l.turn)
			l.turn = nil
		}
		l.mu.Unlock()
	}()
	l.io.Lock()
	defer l.io.Unlock()
	return work()
}

// crowded reports whether room would wait.
func (l *log) crowded(most int64) bool {
	return (l.buffered.Load() >= most || l.behind()) && l.err.Load() == nil
}

// behind reports whether the disk is further behind than everysec allows.
func (l *log) behind() bool {
	return l.mode() == EverySecond && !l.attended.Load() && l.age() > maxBehind
}

// now returns the time in nanoseconds, by a clock that never goes back. It is
// never 0.
func (l *log) now() int64 { return 1 + int64(l.tick()) }

// age returns how old the oldest record is that is not durable, 0 if all are.
func (l *log) age() time.Duration {
	at := l.oldest.Load()
	if at == 0 {
		return 0
	}
	return time.Duration(l.now() - at)
}

// wait returns when all that was appended so far is as durable as the mode asks.
func (l *log) wait() error {
	if mode := l.mode(); mode != Always {
		// What cannot be written now may not be on disk in a second.
		if e := l.err.Load(); e != nil && (e.final || mode == EverySecond) {
			return e
		}
		return nil
	}
	if err := l.syncTo(l.settled()); err != nil {
		return err
	}
	if e := l.err.Load(); e != nil && e.lost {
		return e
	}
	return nil
}

// syncTo makes everything before a position durable. Those who wait while
// another one syncs find their records in what it, or the next, has synced.
func (l *log) syncTo(position uint64) error {
	return l.together(func() bool { return l.durable >= position }, func() error {
		if l.durableTo(position) { // by the door's background
			return nil
		}
		if err := l.flush(); err != nil {
			return err
		}
		return l.sync()
	})
}

func (l *log) durableTo(position uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.durable >= position
}

// barrier makes the log durable up to a position at which no group is open, and
// returns it.
func (l *log) barrier() (uint64, error) {
	l.mu.Lock()
	for l.group {
		l.quiet.Wait()
	}
	end := l.end
	l.mu.Unlock()
	return end, l.syncTo(end)
}

// step does what is due.
func (l *log) step() error {
	l.io.Lock()
	defer l.io.Unlock()
	if err := l.flush(); err != nil {
		return err
	}
	mode := l.mode()
	due := mode == Always || mode == EverySecond && l.age() >= syncEvery
	if l.oldest.Load() == 0 || !due {
		return nil
	}
	return l.sync()
}

// flush writes the buffer as one frame, behind one that could not be written
// before. The caller holds io.
func (l *log) flush() error {
	if e := l.err.Load(); e != nil && e.final {
		return e
	}
	if l.pending.head != nil {
		if err := l.write(); err != nil {
			return err
		}
	}
	for more := true; more; {
		var ok bool
		if ok, more = l.take(); !ok {
			break
		}
		if err := l.write(); err != nil {
			return err
		}
	}
	if l.size >= l.limit {
		return l.rotate()
	}
	return nil
}

// write writes the frame that is pending.
func (l *log) write() error {
	n, err := l.file.Write(l.pending.head)
	for i := 0; err == nil && i < len(l.pending.more); i++ {
		var m int
		m, err = l.file.Write(l.pending.more[i])
		n += m
	}
	if err != nil {
		// The file must not keep a piece of a frame that others will follow.
		if n > 0 {
			if err := l.file.Truncate(l.size); err != nil {
				return l.fail(err, true)
			}
		}
		return l.fail(err, false)
	}
	l.size += int64(n)
	l.mu.Lock()
	l.written += uint64(n - folder.FrameHeader)
	if l.long > 0 {
		l.longBytes.Add(-int64(l.long))
		l.long = 0
		l.count()
	}
	l.mu.Unlock()
	if cap(l.pending.head) <= maxBuffer {
		l.spare = l.pending.head[:folder.FrameHeader]
	}
	l.pending = block{}
	if e := l.err.Load(); e != nil && !e.lost {
		l.err.Store(nil)
	}
	return nil
}

// take makes a frame of the oldest buffer. It reports ok if there was one, and
// more if it was not the one that is being filled.
func (l *log) take() (ok, more bool) {
	l.mu.Lock()
	switch {
	case len(l.full) > 0:
		more = true
		l.pending, l.full = l.full[0], l.full[1:]
		l.fullBytes -= l.pending.size
	case len(l.buf) == folder.FrameHeader:
		l.mu.Unlock()
		return false, false
	default:
		l.pending = blockOf(l.buf)
		if l.buf, l.spare = l.spare, nil; l.buf == nil {
			l.buf = make([]byte, folder.FrameHeader, firstBuffer)
		}
	}
	if l.long = 0; len(l.pending.more) > 0 {
		l.long = l.pending.size
	}
	l.count()
	written, durable := l.written, l.durable
	l.mu.Unlock() // the sum of a long frame takes a while, and writers hold locks
	folder.SealFrame(l.pending.head, folder.LogFrame, written, durable, l.pending.more...)
	return true, more
}

// count counts what is not written yet. The caller holds mu.
func (l *log) count() {
	l.buffered.Store(int64(l.fullBytes + l.long + len(l.buf) - folder.FrameHeader))
}

// sync makes durable what was written. The caller holds io.
func (l *log) sync() error {
	if e := l.err.Load(); e != nil && e.final {
		return e
	}
	if err := l.file.Sync(); err != nil {
		return l.fail(err, true)
	}
	l.syncs.Add(1)
	l.synced.Store(l.now())
	l.mu.Lock()
	defer l.mu.Unlock()
	l.durable = l.written
	l.oldest.Store(0)
	if len(l.buf) > folder.FrameHeader || len(l.full) > 0 {
		l.oldest.Store(l.bufAt)
	}
	return nil
}

// rotate begins the next file. If there is no room for it the old one goes on.
// The caller holds io.
func (l *log) rotate() error {
	if l.size == 0 && !l.removed() {
		return nil
	}
	if err := l.sync(); err != nil {
		return err
	}
	old := l.file
	if l.create() != nil {
		_ = l.files.Remove(folder.LogName(l.written)) // it is empty: recovery does without
	} else {
		_ = old.Close() // all of it is durable
	}
	return nil
}

// removed reports whether somebody has removed the file that is being written to,
// which is empty.
func (l *log) removed() bool {
	names, err := l.files.List()
	_, found := slices.BinarySearch(names, folder.LogName(l.written))
	return err == nil && !found
}

// fail notes why writes are refused from now on: until one succeeds, or for
// ever.
func (l *log) fail(err error, final bool) error {
	e := &logError{err: fmt.Errorf("%w: %w", door.ErrRefused, err), final: final}
	l.err.Store(e)
	l.failures.Add(1)
	return e
}

// close writes and syncs everything, and a last frame that is empty: it says
// that all before it was durable.
func (l *log) close() error {
	l.io.Lock()
	defer l.io.Unlock()
	err := l.flush()
	if err == nil {
		err = l.sync()
	}
	if err == nil {
		last := make([]byte, folder.FrameHeader)
		folder.SealFrame(last, folder.LogFrame, l.written, l.durable)
		_, err = l.file.Write(last)
	}
	if err == nil {
		err = l.file.Sync()
	}
	l.err.Store(&logError{err: errors.New("local: closed"), final: true})
	return errors.Join(err, l.file.Close())
}
