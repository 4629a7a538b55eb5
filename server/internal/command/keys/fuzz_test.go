package keys_test

import (
	"bytes"
	"testing"

	"github.com/bloomery/bloomery/internal/rdb"
	"github.com/bloomery/bloomery/server/internal/command/commandtest"
)

// FuzzRestore asks that a payload with a right footer, whatever it holds, is
// refused or becomes a key that dumps and restores again.
func FuzzRestore(f *testing.F) {
	b := commandtest.New(f, 1<<20)
	b.Line("BF.INSERT b CAPACITY 5 ITEMS 1 2 3 4 5 6 7 8 9")
	b.Line("CF.INSERT c CAPACITY 5 ITEMS 1 2 3 4 5 6 7 8 9")
	b.Line("SET s hello")
	b.Line("CMS.INITBYDIM m 3 2")
	b.Line("CMS.INCRBY m a 1 b 2")
	b.Line("TOPK.RESERVE t 3 2 2 0.9")
	b.Line("TOPK.ADD t a b")
	b.Line("TDIGEST.CREATE d COMPRESSION 2")
	b.Line("TDIGEST.ADD d 1 2 3 4")
	b.Line("TDIGEST.CREATE e COMPRESSION 2")
	b.Line("TDIGEST.ADD e 7")
	b.Line("FILTER.CREATE f counting CAPACITY 10 PARTS 2")
	b.Line("FILTER.ADD f a b c")
	b.Line("FILTER.CREATE w window CAPACITY 10")
	b.Line("FILTER.CREATE q quorum CAPACITY 10")
	for _, key := range []string{"b", "c", "s", "m", "t", "d", "e", "f", "w", "q"} {
		r := b.Exec([][]byte{[]byte("DUMP"), []byte(key)})[0]
		f.Add([]byte(r.Text[:len(r.Text)-10]))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b := commandtest.New(t, 1<<20)
		defer b.Door.Close() // its tasks keep all of its memory
		got := b.Do("RESTORE", "k", "0", string(rdb.AppendFooter(bytes.Clone(data))))
		if got != "+OK" {
			if b.State.Names.Len() != 0 {
				t.Fatalf("refused with %s, and there is a key", got)
			}
			return
		}
		dump := b.Exec([][]byte{[]byte("DUMP"), []byte("k")})[0].Text
		if got := b.Do("RESTORE", "l", "0", dump); got != "+OK" {
			t.Fatalf("RESTORE of our own dump = %s", got)
		}
		if again := b.Exec([][]byte{[]byte("DUMP"), []byte("l")})[0].Text; again != dump {
			t.Fatal("a dump restored gives another dump")
		}
		for _, line := range []string{
			"CMS.INCRBY k x 3", "CMS.QUERY k x", "CMS.MERGE k 2 k l", "TOPK.INCRBY k x 5 y 3 z 1", "TOPK.LIST k WITHCOUNT", "TOPK.COUNT k x",
			"TDIGEST.CDF k 1 2", "TDIGEST.BYRANK k 1 7", "TDIGEST.RANK k 1 inf", "TDIGEST.TRIMMED_MEAN k 0.1 0.7", "TDIGEST.ADD k 1 2 3 4",
			"TDIGEST.QUANTILE k 0 0.4 1", "TDIGEST.MERGE k 1 l",
		} {
			b.Line(line)
		}
	})
}
