package main

import (
	"bufio"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bloomery/bloomery/internal/resp"
)

// fake is a server that notes the commands it gets and answers each item with a 1.
type fake struct {
	net.Listener
	bad  string // an item that is answered with an error
	mu   sync.Mutex
	seen map[string]int // items by filter
	all  map[string]int // how often each item came
}

func newFake(t *testing.T, bad string) *fake {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	f := &fake{Listener: l, bad: bad, seen: map[string]int{}, all: map[string]int{}}
	go func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			go f.serve(nc)
		}
	}()
	return f
}

func (f *fake) serve(nc net.Conn) {
	defer nc.Close() //nolint:errcheck // the client has gone
	r := bufio.NewReader(nc)
	var command resp.Reply // a command looks like a reply
	for command.Read(r) == nil {
		items := command.Array[2:]
		out := resp.AppendArray(nil, len(items))
		f.mu.Lock()
		f.seen[string(command.Array[1].Text)] += len(items)
		for _, item := range items {
			f.all[string(item.Text)]++
			if string(item.Text) == f.bad {
				out = resp.AppendError(out, "ERR full")
			} else {
				out = resp.AppendInt(out, 1)
			}
		}
		f.mu.Unlock()
		if _, err := nc.Write(out); err != nil {
			return
		}
	}
}

// TestDrive holds a load to adding each of its keys once, evenly, and to counting them.
func TestDrive(t *testing.T) {
	f := newFake(t, "")
	l := load{command: "BF.MADD", filter: "f", filters: 4, pipeline: 8, clients: 3, items: 5, keys: 4000}
	n, err := l.drive([]string{f.Addr().String()}, time.Hour)
	if err != nil || n != l.keys {
		t.Fatalf("drive = %d, %v, want %d", n, err, l.keys)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range 4 {
		name := "f" + string(rune('0'+i))
		if f.seen[name] != 1000 {
			t.Errorf("%d items for %s, want 1000", f.seen[name], name)
		}
	}
	for item, count := range f.all {
		if count != 1 || len(item) != numberBytes {
			t.Fatalf("item %q came %d times", item, count)
		}
	}
	if f.all["000000003999"] != 1 {
		t.Error("the last number is missing")
	}
}

// TestDriveFails holds a load to noticing an error among answers.
func TestDriveFails(t *testing.T) {
	f := newFake(t, "000000000042")
	l := load{command: "BF.MADD", filter: "f", filters: 1, pipeline: 1, clients: 2, items: 10, keys: 1000}
	if _, err := l.drive([]string{f.Addr().String()}, time.Hour); err == nil || !strings.Contains(err.Error(), "ERR full") {
		t.Errorf("drive = %v, want the error of the server", err)
	}
	if err := fill(f.Addr().String(), "FILTER.ADD", "g", 100, 1); err == nil {
		t.Error("fill saw no error")
	}
}

// TestFill holds fill to adding every number once.
func TestFill(t *testing.T) {
	f := newFake(t, "")
	if err := fill(f.Addr().String(), "FILTER.ADD", "g", 20_500, 2); err != nil {
		t.Fatal(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.seen["g"] != 20_500 || len(f.all) != 20_500 || f.all["000000040998"] != 1 {
		t.Errorf("%d items, %d of them different", f.seen["g"], len(f.all))
	}
}
