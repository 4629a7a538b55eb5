package server_test

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	// stackFile is where the server under test writes its goroutines when it is
	// asked to by a signal.
	stackFile = "stacks"
	// stderrLines is how much of what the server said is shown.
	stderrLines = 200
)

// evidenceAsked returns where SIGHUP arrives, which does not end this process from now on.
func evidenceAsked() <-chan os.Signal {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGHUP)
	return asked
}

// answerEvidence writes all goroutines of this process to a file whenever it is asked.
// It is the side of the server under test.
func answerEvidence(dir string, asked <-chan os.Signal) {
	for range asked {
		b := make([]byte, 8<<20)
		b = b[:runtime.Stack(b, true)]
		var mem runtime.MemStats
		runtime.ReadMemStats(&mem)
		b = fmt.Appendf(b, "\n\nheap %d MiB, next collection at %d MiB, %d collections, %d forced, %.3f of all processor time in them, longest pause %v\n",
			mem.HeapAlloc>>20, mem.NextGC>>20, mem.NumGC, mem.NumForcedGC, mem.GCCPUFraction, time.Duration(slices.Max(mem.PauseNs[:])))
		if os.WriteFile(filepath.Join(dir, stackFile+".new"), b, 0o600) == nil {
			_ = os.Rename(filepath.Join(dir, stackFile+".new"), filepath.Join(dir, stackFile))
		}
	}
}

// record is what the server under test says on stderr.
type record struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.b.Write(p)
}

// Reset forgets all.
func (r *record) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.b.Reset()
}

// Len returns how many bytes there are.
func (r *record) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.b.Len()
}

// String returns the last lines.
func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	lines := strings.Split(r.b.String(), "\n")
	return strings.Join(lines[max(0, len(lines)-stderrLines):], "\n")
}

// stacks returns the goroutines of the server, those that do the same once. A server
// that does not answer is ended for that, if it has failed.
func (c *chaos) stacks(server *exec.Cmd) string {
	path := filepath.Join(c.dir, stackFile)
	_ = os.Remove(path)
	_ = server.Process.Signal(syscall.SIGHUP)
	for until := time.Now().Add(5 * time.Second); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		if data, err := os.ReadFile(path); err == nil {
			return grouped(string(data))
		}
	}
	if !c.failed.Load() {
		return ""
	}
	before := c.output.Len()
	_ = server.Process.Signal(syscall.SIGQUIT)
	time.Sleep(2 * time.Second)
	c.output.mu.Lock()
	defer c.output.mu.Unlock()
	return "it did not answer a signal\n" + grouped(c.output.b.String()[before:])
}

// grouped shows each stack once, with how many goroutines have it, the most frequent
// first.
func grouped(text string) string {
	const shown = 12 // functions of a stack
	count := map[string]int{}
	for block := range strings.SplitSeq(text, "\n\n") {
		head, rest, _ := strings.Cut(block, "\n")
		_, state, ok := strings.Cut(head, "[")
		if !ok {
			count[block]++
			continue
		}
		var b strings.Builder
		b.WriteString("[" + state)
		n := 0
		for line := range strings.SplitSeq(rest, "\n") {
			if name, _, ok := strings.Cut(line, " in goroutine "); ok {
				b.WriteString("\n    " + name)
			} else if name, _, ok := cutLast(line, "("); ok && !strings.HasPrefix(line, "\t") && n < shown {
				n++
				b.WriteString("\n    " + name)
			} else if at, _, ok := strings.Cut(strings.TrimSpace(line), " +0x"); ok && n <= shown {
				b.WriteString("  " + filepath.Base(at))
			}
		}
		count[b.String()]++
	}
	var b strings.Builder
	for _, stack := range slices.SortedFunc(maps.Keys(count), func(x, y string) int {
		return cmp.Or(count[y]-count[x], strings.Compare(x, y))
	}) {
		fmt.Fprintf(&b, "%d × %s\n", count[stack], stack)
	}
	return b.String()
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// allowance is a limit on how long something may take on a machine that does nothing
// else.
type allowance struct {
	c      *chaos
	server *exec.Cmd // at the beginning: clients may outlive it
	what   string
	limit  time.Duration
	disk   bool // it may wait for the disk
	began  time.Time
	timer  *time.Timer

	mu       sync.Mutex
	evidence string // when the limit had passed
}

// allow begins to measure. When limit has passed the goroutines of the server are
// kept: later, they do something else.
func (c *chaos) allow(what string, limit time.Duration, disk bool) *allowance {
	a := &allowance{c: c, server: c.server, what: what, limit: limit * chaosFactor, disk: disk, began: time.Now()}
	a.timer = time.AfterFunc(a.limit, func() {
		if c.capturing.TryLock() { // one is enough
			defer c.capturing.Unlock()
			text := c.stacks(a.server)
			a.mu.Lock()
			defer a.mu.Unlock()
			a.evidence = text
		}
	})
	return a
}

// left returns how long it may still take: the limit is in time of a machine that is
// the server's. It is negative when that has passed.
func (a *allowance) left() time.Duration {
	return a.most(a.c.machine.now(a.began)) - time.Since(a.began)
}

// most returns how long it may take on a machine that is late.
func (a *allowance) most(l lateness) time.Duration {
	most := a.limit + l.processors + 2*l.measured // to send and to receive
	if a.disk {
		most += l.disk
	}
	return most
}

// end ends the measuring and returns how long it took. It reports whether that was
// within the limit.
func (a *allowance) end() (took time.Duration, ok bool) {
	a.timer.Stop()
	took = time.Since(a.began)
	if took <= a.limit {
		return took, true
	}
	l := a.c.machine.now(a.began)
	if took > a.most(l) {
		return took, false
	}
	a.c.excused.Add(1)
	a.c.t.Logf("%s took %v: %v", a.what, took, l)
	return took, true
}

// starved reports whether the server had, of the time that has passed, less than the
// limit of a usual build.
func (a *allowance) starved() bool {
	l := a.c.machine.now(a.began)
	return time.Since(a.began)-(a.most(l)-a.limit) < a.limit/chaosFactor
}

// fail fails the test with all that is known.
func (a *allowance) fail(took time.Duration, more any) {
	c := a.c
	if c.failed.Swap(true) {
		return
	}
	l := c.machine.now(a.began)
	info := c.ask("INFO", "all")
	c.capturing.Lock() // wait for one that is being taken
	defer c.capturing.Unlock()
	a.mu.Lock()
	stacks := a.evidence
	a.mu.Unlock()
	if stacks == "" {
		stacks = c.stacks(a.server)
	}
	c.t.Errorf("%s took %v, want at most %v (%v on a machine that does nothing else; %v). %v\n"+
		"%v after the server began, %v sessions\n%s\nGoroutines of the server:\n%s\nINFO:\n%s\nThe server said:\n%s",
		a.what, took, a.most(l), a.limit, l, more,
		time.Since(c.born), c.sessions.Load(), c.machine, stacks, info, &c.output)
	_ = a.server.Process.Kill()
}

// ask returns the reply to a command of a new client, or why there is none.
func (c *chaos) ask(args ...string) string {
	p := connect(c)
	if p == nil {
		return "no connection"
	}
	defer p.close()
	return cmp.Or(p.do(args...), "no reply")
}

// TestGroupedStacks asks that goroutines which do the same are shown once.
func TestGroupedStacks(t *testing.T) {
	one := "goroutine 1 [select]:\nmain.f(0x1)\n\t/src/main.go:5 +0x1\ncreated by main.g in goroutine 9\n\t/src/main.go:8 +0x1"
	two := strings.ReplaceAll(one, "goroutine 1 ", "goroutine 2 ")
	other := "goroutine 3 [running]:\nmain.h(...)\n\t/src/main.go:7 +0x1"
	got := grouped(strings.Join([]string{other, one, two}, "\n\n"))
	if !strings.HasPrefix(got, "2 × [select]:\n    main.f  main.go:5\n    created by main.g  main.go:8\n") || !strings.Contains(got, "\n1 × [running]:\n    main.h  main.go:7\n") {
		t.Errorf("grouped = %q", got)
	}
}
