package tdigest_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/bloomery/bloomery/server/internal/command/commandtest"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/store"
)

// TestFullDigestTakesValues adds to a large digest that is full although it is compressed,
// as a dump can make it: it is not compressed again and again.
func TestFullDigestTakesValues(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.OK(t, "TDIGEST.CREATE s COMPRESSION 4000")
	var nodes []byte
	for i := range 6*4000 + 9 {
		nodes = binary.LittleEndian.AppendUint64(nodes, math.Float64bits(float64(i)))
		nodes = binary.LittleEndian.AppendUint64(nodes, 1<<20)
	}
	entry := b.State.Names.Lookup([]byte("s"), 0)
	op := &door.Op{Record: store.Record{ID: entry.ID, Body: &store.TDigestChunk{Nodes: nodes}}}
	if b.Door.Do([]*door.Op{op}); op.Result.Err != nil {
		t.Fatal(op.Result.Err)
	}
	for i := range 3 {
		b.OK(t, fmt.Sprintf("TDIGEST.ADD s %d 1 2 3", i))
	}
}
