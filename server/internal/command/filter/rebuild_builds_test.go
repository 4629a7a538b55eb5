package filter_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/store"
)

// TestWhileACommitBuilds has other commands come between the seal and the swap of a
// commit of a static kind. What they did stays, and no filter that was removed comes
// back.
func TestWhileACommitBuilds(t *testing.T) {
	for _, tt := range []struct {
		meanwhile string // commands; a number is seconds that pass
		want      error
		then      string // a question, and its answer
	}{
		{"", nil, "FILTER.HAS f a1 a499 = [true true]"},
		{"FILTER.ADD f x", nil, "FILTER.HAS f x = [false]"}, // refused
		{"FILTER.REBUILD f FEED x", nil, "FILTER.HAS f x = [false]"},
		{"FILTER.REBUILD f COMMIT FORCE", nil, "FILTER.HAS f a1 = [true]"},
		{"FILTER.CLEAR f", nil, "FILTER.HAS f a1 = [true]"}, // refused
		{"FILTER.DEL f a1", nil, "FILTER.HAS f a1 = [true]"},
		{"FILTER.GROW f", nil, "FILTER.HAS f a1 = [true]"},
		{"RENAME f h", nil, "FILTER.HAS h a1 = [true]"},
		{"RENAME f h,RENAME g f", nil, "FILTER.HAS f a1 = [false]"},
		{"PEXPIRE f 500000", nil, "PTTL f = :500000"},
		{"FILTER.REBUILD f ABORT", contents.ErrRetry, "FILTER.ADD f x = [true]"},
		{"FILTER.REBUILD f ABORT,FILTER.REBUILD f BEGIN bloom", contents.ErrRetry, "FILTER.ADD f x = [true]"},
		{"FILTER.REBUILD f ABORT,FILTER.REBUILD f BEGIN fuse8,FILTER.ADD f x", contents.ErrRetry, "FILTER.HAS f x = [true]"},
		{"DEL f", contents.ErrRetry, "EXISTS f = :0"},
		{"DEL f,FILTER.CREATE f bloom,FILTER.ADD f x", contents.ErrRetry, "FILTER.HAS f x a1 = [true false]"},
		{"FLUSHALL", contents.ErrRetry, "EXISTS f = :0"},
		{"SET f v", contents.ErrRetry, `GET f = "v"`},
		{"RENAME g f", contents.ErrRetry, "FILTER.HAS f a1 = [false]"},
		{"EXPIRE f 1,2", contents.ErrRetry, "EXISTS f = :0"},
	} {
		b := openBench(t, nil, newBench(t, 1).Now, nil)
		b.OK(t, "FILTER.CREATE f bloom CAPACITY 1000")
		b.OK(t, "FILTER.CREATE g bloom CAPACITY 1000")
		b.add("f", "a", 0, 500)
		b.OK(t, "FILTER.REBUILD f BEGIN fuse32")
		b.feed(t, "f", "a", 0, 500)
		sh := b.State.ShadowOf(b.State.Names.Lookup([]byte("f"), b.Now.UnixMilli()).ID)
		seal := &door.Op{Record: store.Record{Body: &store.ShadowSeal{ID: sh.ID}}}
		b.Door.Do([]*door.Op{seal})
		commit := uint64(seal.Result.N)
		built, err := b.State.Build(sh.Entry(), commit, func() bool { return false })
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.SplitSeq(tt.meanwhile, ",") {
			if line == "2" {
				b.Now = b.Now.Add(2 * time.Second)
			} else if line != "" {
				b.Line(line)
			}
		}
		swap := &door.Op{Record: store.Record{At: b.Now.UnixMilli(), Body: &store.ShadowSwap{ID: sh.ID, Of: sh.Main, Sums: built.Sums(), Built: built}}}
		b.Door.Do([]*door.Op{swap})
		sh.Reopen(commit)
		if !errors.Is(swap.Result.Err, tt.want) {
			t.Errorf("%q: %v, want %v", tt.meanwhile, swap.Result.Err, tt.want)
		}
		question, want, _ := strings.Cut(tt.then, " = ")
		if got := b.Line(question); got != want {
			t.Errorf("%q: %s: %s, want %s", tt.meanwhile, question, got, want)
		}
		again := restarted(t, b, nil)
		if strings.HasPrefix(question, "FILTER.ADD") {
			question, want = strings.Replace(question, "ADD", "HAS", 1), "[true]"
		}
		if got := again.Line(question); got != want {
			t.Errorf("%q, after a restart: %s: %s, want %s", tt.meanwhile, question, got, want)
		}
	}
}

// TestRefusedCommitOpensAgain has COMMIT refused when the filter is built: items are taken
// again, and the next one succeeds.
func TestRefusedCommitOpensAgain(t *testing.T) {
	b := newBench(t, 1<<30)
	b.OK(t, "FILTER.CREATE f bloom CAPACITY 1000")
	b.add("f", "a", 0, 500)
	b.OK(t, "FILTER.REBUILD f BEGIN fuse8")
	b.feed(t, "f", "a", 0, 300)
	b.feed(t, "f", "a", 0, 300) // enough to begin with, and too few in the end
	if got := b.Line("FILTER.REBUILD f COMMIT"); !strings.HasPrefix(got, "-ERR the new filter holds 6") {
		t.Fatalf("COMMIT: %s", got)
	}
	if got := b.status(t, "f", "state") + b.Line("FILTER.ADD f x"); got != "open[true]" {
		t.Errorf("after a COMMIT that was refused: %s", got)
	}
	b.feed(t, "f", "a", 300, 500)
	b.OK(t, "FILTER.REBUILD f COMMIT")
	b.hasAll(t, "f", "a", 0, 500)
	if got := b.Line("FILTER.HAS f x"); got != "[true]" {
		t.Errorf("an item that was added between two COMMITs: %s", got)
	}
}
