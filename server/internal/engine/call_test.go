package engine

import (
	"testing"
	"unsafe"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/staging"
	"github.com/bloomery/bloomery/server/internal/store"
)

// TestSizesThatCount asks that what a queued command counts for is not less than
// what EXEC will take for it.
func TestSizesThatCount(t *testing.T) {
	if got := unsafe.Sizeof(Call{}); got > callBytes {
		t.Errorf("a Call takes %d bytes and counts for %d", got, callBytes)
	}
	if got := unsafe.Sizeof(answer.Reply{}); got > answer.ReplyBytes {
		t.Errorf("a Reply takes %d bytes and counts for %d", got, answer.ReplyBytes)
	}
}

// TestRetryBeginsChunksAgain asks that a LOADCHUNK in pieces hears that its filter
// has gone between two of them: it begins again.
func TestRetryBeginsChunksAgain(t *testing.T) {
	e := New(Config{State: store.New()})
	data := make([]byte, 1<<20)
	l := &staging.Chunk{}
	l.Next(1<<20, data)
	if _, second := l.Next(1<<20, data); !l.More(&store.Result{}, len(data)) || len(second) == len(data) {
		t.Fatal("a long chunk is not stored in pieces")
	}
	c := &Call{Option: l, Args: [][]byte{nil, nil, nil, data}, cmd: &Command{Reply: func(c *Call, res *store.Result) { c.MoreChunks(res) }}}
	op := &Op{}
	op.Result.Err = contents.ErrRetry
	e.conclude(c, op)
	if _, piece := l.Next(1<<20, data); &piece[0] != &data[0] || c.answered {
		t.Errorf("pieces do not begin again, answered %v", c.answered)
	}
	op.Record.Body = &store.Set{String: store.String{Made: "a string"}}
	c = &Call{cmd: &Command{Reply: func(*Call, *store.Result) { t.Error("a string that has to be made again is answered") }}}
	e.conclude(c, op)
}
