package server_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	// sampleEvery is how often the machine is looked at, sleepFor how long the
	// sleeper sleeps, probeEvery how often the disk is tried.
	sampleEvery = 100 * time.Millisecond
	sleepFor    = 10 * time.Millisecond
	probeEvery  = 200 * time.Millisecond
	// usualSync is how long a sync of a small file may take on a disk that is
	// not late.
	usualSync = 50 * time.Millisecond
	// keptSamples is how much is remembered: a minute.
	keptSamples = 600
)

// sample is what the machine has done up to a moment. All but at, late, load and sync
// only grows.
type sample struct {
	at     time.Time
	ran    time.Duration // by all threads of the server
	waited time.Duration // by them, for a processor
	stolen time.Duration // by other guests of the host, on all processors
	slow   time.Duration // by syncs beside the server, beyond what is usual
	late   time.Duration // how late the sleeper was at most since the last sample
	sync   time.Duration // the longest since the last sample
	load   string
}

// machine measures what the machine keeps from the server and from the test: other
// programs have the processors, or the disk is slow. A server that waits for a lock,
// or for itself, waits for none of these.
type machine struct {
	pid   atomic.Int64
	late  atomic.Int64
	slept atomic.Int64 // when the sleeper went to sleep, 0 before
	sync  atomic.Int64
	slow  atomic.Int64
	busy  atomic.Int64 // when the sync began that is under way, 0 for none

	mu      sync.Mutex
	ran     time.Duration // by the threads that there were at the last sample
	waited  time.Duration
	samples []sample
	done    chan struct{}
	tasks   sync.WaitGroup
}

// newMachine begins to measure. dir is on the disk of the server.
func newMachine(dir string) *machine {
	m := &machine{done: make(chan struct{})}
	m.take()
	m.tasks.Go(m.sleep)
	m.tasks.Go(func() { m.probe(filepath.Join(dir, "probe")) })
	m.tasks.Go(func() {
		for m.pause(sampleEvery) {
			m.take()
		}
	})
	return m
}

// close ends the measuring.
func (m *machine) close() {
	close(m.done)
	m.tasks.Wait()
}

// pause reports false when the measuring ends.
func (m *machine) pause(d time.Duration) bool {
	select {
	case <-m.done:
		return false
	case <-time.After(d):
		return true
	}
}

// sleep notes how late it wakes up.
func (m *machine) sleep() {
	for {
		began := time.Now()
		m.slept.Store(began.UnixNano())
		if !m.pause(sleepFor) {
			return
		}
		raise(&m.late, time.Since(began)-sleepFor)
	}
}

// probe syncs a small file again and again and notes how long that takes.
func (m *machine) probe(path string) {
	f, err := os.Create(path)
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }()
	for m.pause(probeEvery) {
		began := time.Now()
		m.busy.Store(began.UnixNano())
		_, _ = f.WriteAt(make([]byte, 4<<10), 0)
		_ = f.Sync()
		took := time.Since(began)
		m.busy.Store(0)
		raise(&m.sync, took)
		m.slow.Add(int64(max(0, took-usualSync)))
	}
}

func raise(a *atomic.Int64, d time.Duration) {
	for {
		old := a.Load()
		if int64(d) <= old || a.CompareAndSwap(old, int64(d)) {
			return
		}
	}
}

// take adds a sample.
func (m *machine) take() {
	s := sample{at: time.Now(), late: time.Duration(m.late.Swap(0)), sync: time.Duration(m.sync.Swap(0)), slow: time.Duration(m.slow.Load())}
	ran, waited := scheduled(int(m.pid.Load()))
	s.stolen = stolen()
	if began := m.slept.Load(); began != 0 { // it counts before it wakes, or ends
		s.late = max(s.late, time.Since(time.Unix(0, began))-sleepFor)
	}
	if began := m.busy.Load(); began != 0 {
		under := time.Since(time.Unix(0, began))
		s.sync = max(s.sync, under)
		s.slow += max(0, under-usualSync)
	}
	if data, err := os.ReadFile("/proc/loadavg"); err == nil {
		s.load, _, _ = strings.Cut(string(data), " ")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := len(m.samples); n > 0 { // a server that has ended takes nothing back
		s.ran = m.samples[n-1].ran + max(0, ran-m.ran)
		s.waited = m.samples[n-1].waited + max(0, waited-m.waited)
	}
	m.ran, m.waited = ran, waited
	if m.samples = append(m.samples, s); len(m.samples) > 2*keptSamples {
		m.samples = append(m.samples[:0], m.samples[keptSamples:]...)
	}
}

// scheduled returns how long the threads of a process ran, and how long they were
// ready and waited for a processor. Both are 0 where the system does not say.
func scheduled(pid int) (ran, waited time.Duration) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	for _, name := range files {
		data, err := os.ReadFile(name)
		if fields := strings.Fields(string(data)); err == nil && len(fields) == 3 {
			r, _ := strconv.ParseInt(fields[0], 10, 64)
			w, _ := strconv.ParseInt(fields[1], 10, 64)
			ran, waited = ran+time.Duration(r), waited+time.Duration(w)
		}
	}
	return ran, waited
}

// stolen returns how long the host has given the processors of this machine to
// others, although they were needed. It is 0 where the system does not say.
func stolen() time.Duration {
	const field, tick = 8, 10 * time.Millisecond
	data, err := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(data), "\n")
	fields := strings.Fields(line)
	if err != nil || len(fields) <= field {
		return 0
	}
	n, _ := strconv.ParseInt(fields[field], 10, 64)
	return time.Duration(n) * tick
}

// lateness is what the machine kept from the server, and from who measures it, in some
// time.
type lateness struct {
	processors time.Duration // the server was ready to run and did not
	measured   time.Duration // the test was not woken for so long, at most
	disk       time.Duration // syncs of a small file took longer than usual
}

// String describes the lateness.
func (l lateness) String() string {
	return fmt.Sprintf("the server waited %v for processors, this test woke up to %v late, the disk was %v late",
		l.processors, l.measured, l.disk)
}

// now returns the lateness from a moment until now.
func (m *machine) now(began time.Time) lateness {
	m.take()
	return m.since(began)
}

// since returns the lateness from a moment until the last sample. Of the time of all processors
// the server was kept from what its threads waited for, as far as they did not run:
// more threads than there are processors wait for each other. A server that waits for
// a lock, or sleeps, is kept from nothing.
func (m *machine) since(began time.Time) lateness {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := &m.samples[len(m.samples)-1]
	first, l := last, lateness{measured: last.late}
	for i := len(m.samples) - 1; i > 0 && m.samples[i].at.After(began); i-- {
		first = &m.samples[i-1]
		l.measured = max(l.measured, m.samples[i].late)
	}
	processors := time.Duration(runtime.NumCPU())
	rest := processors*last.at.Sub(first.at) - (last.ran - first.ran)
	l.processors = max(0, min(last.waited-first.waited, rest)) / processors
	l.processors += (last.stolen - first.stolen) / processors
	l.disk = max(0, last.slow-first.slow)
	return l
}

// String shows the last samples, a second in a line.
func (m *machine) String() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var b strings.Builder
	b.WriteString("  ago   server ran   waited   stolen   sleeper late   longest sync   load\n")
	const lines, each = 30, int(time.Second / sampleEvery)
	for end := len(m.samples) - 1; end >= each && end > len(m.samples)-lines*each; end -= each {
		s, before := &m.samples[end], &m.samples[end-each]
		var late, sync time.Duration
		for i := end - each + 1; i <= end; i++ {
			late, sync = max(late, m.samples[i].late), max(sync, m.samples[i].sync)
		}
		ms := func(d time.Duration) string { return fmt.Sprintf("%.0fms", d.Seconds()*1000) }
		fmt.Fprintf(&b, "%4.1fs %12s %8s %8s %14s %14s %6s\n", time.Since(before.at).Seconds(), ms(s.ran-before.ran),
			ms(s.waited-before.waited), ms(s.stolen-before.stolen), ms(late), ms(sync), s.load)
	}
	return b.String()
}

// TestLateness asks what counts as lateness of a machine, and what does not.
func TestLateness(t *testing.T) {
	cpus := time.Duration(runtime.NumCPU())
	for name, tt := range map[string]struct {
		last sample // a second after one of zeros
		want lateness
	}{
		"a server that waits for a lock": {sample{ran: cpus * 10 * time.Millisecond}, lateness{}},
		"a server that computes":         {sample{ran: cpus * time.Second}, lateness{}},
		"others have the processors":     {sample{ran: cpus * 200 * time.Millisecond, waited: cpus * 800 * time.Millisecond}, lateness{processors: 800 * time.Millisecond}},
		"threads wait for each other":    {sample{ran: cpus * 900 * time.Millisecond, waited: 5 * cpus * time.Second}, lateness{processors: 100 * time.Millisecond}},
		"another guest of the host":      {sample{stolen: cpus * 300 * time.Millisecond}, lateness{processors: 300 * time.Millisecond}},
		"a slow disk":                    {sample{slow: 400 * time.Millisecond}, lateness{disk: 400 * time.Millisecond}},
		"a late test":                    {sample{late: 70 * time.Millisecond}, lateness{measured: 70 * time.Millisecond}},
	} {
		began := time.Now()
		tt.last.at = began.Add(time.Second)
		m := &machine{samples: []sample{{at: began, late: time.Hour}, tt.last}}
		if got := m.since(began); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
