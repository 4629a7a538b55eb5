package engine_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/store"
)

// TestFlushHoldsNobody removes 200,000 names while somebody reads one of the
// filters among them, so that what has to be done for every one of them cannot
// end: names, memory and other clients must not wait for that.
func TestFlushHoldsNobody(t *testing.T) {
	for _, command := range []string{"FLUSHALL ASYNC", "FLUSHDB ASYNC"} {
		b := newBench(t, 1<<30)
		b.line("BF.RESERVE read 0.01 10000000") // 11 MiB, mapped
		b.line("BF.RESERVE other 0.01 1000")
		names := 200_000
		if testing.Short() {
			names /= 10
		}
		for i := 0; i < names; i += 1000 {
			args := []string{"MSET"}
			for j := range 1000 {
				args = append(args, fmt.Sprint("s", i+j), "value")
			}
			if got := b.do(args...); got != "+OK" {
				t.Fatal(got)
			}
		}
		part := contents.PartOf(b.state.Names.Lookup([]byte("read"), 0))
		part.RLock()
		answers := make(chan []string)
		go func() {
			answers <- b.lines(command, "DBSIZE", "SET s1 new", "GET s1", "BF.ADD read x", "MULTI", "DBSIZE", "EXEC")
		}()
		select {
		case got := <-answers:
			if want := "[+OK :0 +OK \"new\" :1 +OK +QUEUED [:2]]"; fmt.Sprint(got) != want {
				t.Errorf("%s and others = %v, want %s", command, got, want)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s waits for a reader of a filter, and all others with it", command)
		}
		if got := b.state.Bytes(); got > 10_000 {
			t.Errorf("%d bytes count as in use after %s", got, command)
		}
		if b.state.Mapped() == 0 {
			t.Error("memory went that somebody reads")
		}
		part.RUnlock()
		b.line("FLUSHALL") // waits for its own; what was before has at least begun
		for deadline := time.Now().Add(30 * time.Second); b.state.Mapped() != 0 || b.state.Bytes() != 0; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%d bytes are mapped, %d counted, after all is removed", b.state.Mapped(), b.state.Bytes())
			}
		}
	}
}

// TestFlushGivesMemoryBack asks that the memory is back when FLUSHALL is answered,
// also inside a transaction, and that a filter without a name stays counted.
func TestFlushGivesMemoryBack(t *testing.T) {
	b := newBench(t, 64<<20)
	for _, commands := range [][]string{{"FLUSHALL"}, {"FLUSHDB SYNC"}, {"MULTI", "FLUSHALL", "BF.RESERVE again 0.01 40000000", "DEL again", "EXEC"}} {
		if got := b.line("BF.RESERVE f 0.01 40000000"); got != "+OK" { // 48 MiB of 64
			t.Fatal(got)
		}
		part := contents.PartOf(b.state.Names.Lookup([]byte("f"), 0))
		got := b.lines(commands...)
		if last := got[len(got)-1]; last != "+OK" && last != "[+OK +OK :1]" {
			t.Errorf("%v = %v", commands, got)
		}
		part.RLock()
		if !part.Gone() {
			t.Errorf("%v is answered before the filter is gone", commands)
		}
		part.RUnlock()
		if got := b.state.Bytes(); got != 0 {
			t.Errorf("%v: %d bytes are counted", commands, got)
		}
	}
}

// TestFlushWaitsForNothingUnseen has somebody be busy with a filter that has no name yet: FLUSHALL does not wait for that, and in
// the end what it takes is counted.
func TestFlushWaitsForNothingUnseen(t *testing.T) {
	b := newBench(t, 1<<30)
	b.lines("FILTER.CREATE f bloom CAPACITY 100000 PARTS 2", "FILTER.ADD f x")
	piece := b.exec(bytesOf([]string{"FILTER.DUMP", "f", "0"}))[0].Elems
	if got := b.do("FILTER.LOAD", "g", fmt.Sprint(piece[0].N), piece[1].Text); got != "+OK" {
		t.Fatal(got)
	}
	b.state.Names.Lock()
	unseen := b.state.Names.Unnamed()[0]
	b.state.Names.Unlock()
	part := contents.PartOf(unseen)
	part.Lock()
	flushed := make(chan string)
	go func() { flushed <- b.line("FLUSHALL") }()
	select {
	case got := <-flushed:
		if got != "+OK" {
			t.Error(got)
		}
	case <-time.After(time.Minute):
		t.Fatal("FLUSHALL waits for a part that nobody sees, and all others with it")
	}
	part.Unlock()
	if got, want := b.state.Bytes(), store.Cost("", unseen); got != want {
		t.Errorf("%d bytes are counted, a filter without a name takes %d", got, want)
	}
}
