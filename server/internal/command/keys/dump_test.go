package keys_test

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/internal/rdb"
	"github.com/bloomery/bloomery/server/internal/command/commandtest"
)

// TestDumpsOfEverySort moves filters by DUMP and by pieces, with an entry in the place of
// another, deadlines and mistakes.
func TestDumpsOfEverySort(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.Line("BF.RESERVE bf 0.001 50 EXPANSION 3")
	b.Line("CF.RESERVE cf 64 BUCKETSIZE 3 MAXITERATIONS 7 EXPANSION 2")
	for i := range 200 {
		item := strings.Repeat("x", i)
		b.Do("BF.ADD", "bf", item)
		b.Do("CF.ADD", "cf", item)
	}
	b.Do("SET", "s", strings.Repeat("text", 50))
	for _, name := range []string{"bf", "cf", "s"} {
		dump := b.Exec([][]byte{[]byte("DUMP"), []byte(name)})[0].Text
		for _, c := range []struct{ words, want string }{
			{"0", "+OK"},
			{"0", "-BUSYKEY Target key name already exists."},
			{"0 REPLACE", "+OK"},
			{"5000 REPLACE IDLETIME 3", "+OK"},
		} {
			words := strings.Fields(c.words)
			if got := b.Do(append([]string{"RESTORE", name + "copy", words[0], dump}, words[1:]...)...); got != c.want {
				t.Errorf("RESTORE of %s %s = %s, want %s", name, c.words, got, c.want)
			}
		}
		if got := b.Line("PTTL " + name + "copy"); got != ":5000" {
			t.Errorf("PTTL of %s = %s, want :5000", name, got)
		}
		if got := b.Exec([][]byte{[]byte("DUMP"), []byte(name + "copy")})[0].Text; got != dump {
			t.Errorf("the copy of %s has another dump", name)
		}
		if got := b.Do("RESTORE", name+"at", "1700000009000", dump, "ABSTTL"); got != "+OK" {
			t.Errorf("RESTORE ABSTTL = %s", got)
		}
		if got := b.Line("PTTL " + name + "at"); got != ":9000" {
			t.Errorf("PTTL of %s = %s, want :9000", name, got)
		}
		if got := b.Do("RESTORE", name+"gone", "1", dump, "ABSTTL"); got != "+OK" || b.Line("EXISTS "+name+"gone") != ":0" {
			t.Errorf("RESTORE with a deadline in the past = %s", got)
		}
		for i := 0; i < len(dump); i += max(1, len(dump)/50) {
			bad := []byte(dump)
			bad[i] ^= 1
			if got := b.Do("RESTORE", "bad", "0", string(bad)); got != "-ERR DUMP payload version or checksum are wrong" {
				t.Errorf("byte %d of %s changed: %s", i, name, got)
			}
		}
	}
	// Info and answers are those of the original.
	for _, line := range []string{"BF.INFO bf", "CF.INFO cf", "BF.CARD bf", "CF.COUNT cf xxx", "BF.EXISTS bf xxx"} {
		copied := strings.NewReplacer(" bf", " bfcopy", " cf", " cfcopy").Replace(line)
		if a, c := b.Line(line), b.Line(copied); a != c {
			t.Errorf("%s = %s, of the copy %s", line, a, c)
		}
	}
}

// TestDeepDumpsAreRefused loads filters in which a single item would take long: a CF of very
// many sub-filters, a BF of very many layers, a TOPK of very many items. Those of RedisBloom
// have far fewer.
func TestDeepDumpsAreRefused(t *testing.T) {
	b := commandtest.New(t, 1<<40)
	b.WithoutLog(t)
	cf := func(filters uint64) string {
		h := binary.LittleEndian.AppendUint64(nil, 1)
		for _, v := range []uint64{1, 0, filters} {
			h = binary.LittleEndian.AppendUint64(h, v)
		}
		return string(append(h, 1, 0, 1, 0, 1, 0)) // a slot in a bucket, a move, all of one size
	}
	b.Line("BF.RESERVE one 0.5 1")
	header := b.Exec(commandtest.Fields("BF.SCANDUMP one 0"))[0].Elems[1].Text
	bf := func(layers int) string {
		n := binary.LittleEndian.AppendUint32(nil, uint32(layers))
		return header[:8] + string(n) + header[12:20] + strings.Repeat(header[20:], layers)
	}
	for _, tt := range []struct{ name, command, data, want string }{
		{"65,535 sub-filters", "CF.LOADCHUNK", cf(65_535), "+OK"},
		{"4,194,304 sub-filters", "CF.LOADCHUNK", cf(1 << 22), "-"},
		{"10,000 layers", "BF.LOADCHUNK", bf(10_000), "+OK"},
		{"1,000,000 layers", "BF.LOADCHUNK", bf(1_000_000), "-"},
	} {
		if got := b.Do(tt.command, tt.name, "1", tt.data); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s: %.80s, want %s", tt.name, got, tt.want)
		}
	}
	if got := b.Line("TOPK.RESERVE t 1000000 8 7 0.9"); got != "+OK" {
		t.Errorf("TOPK.RESERVE of a million = %s", got)
	}
	if got := b.Line("TOPK.RESERVE u 2000000 8 7 0.9"); !strings.HasPrefix(got, "-ERR Insufficient memory") {
		t.Errorf("TOPK.RESERVE of two million = %s", got)
	}
	b.State.Discard()
}

// TestDumpsHaveTheirTypes looks at the first bytes of dumps: a module's value, and
// the type with version 4 of its encoding.
func TestDumpsHaveTheirTypes(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.Line("BF.ADD bf x")
	b.Line("CF.ADD cf x")
	for name, kind := range map[string]string{"bf": "MBbloom--", "cf": "MBbloomCF"} {
		want := binary.BigEndian.AppendUint64([]byte{7, 0x81}, rdb.ModuleID(kind, 4))
		if got := b.Exec(commandtest.Fields("DUMP " + name))[0].Text; !strings.HasPrefix(got, string(want)) {
			t.Errorf("the dump of %s begins with %x, want %x", name, got[:min(10, len(got))], want)
		}
	}
}

// TestLargeDumps dumps what is larger than a reply: the error names the command that takes it in pieces.
func TestLargeDumps(t *testing.T) {
	b := commandtest.New(t, 4<<30)
	b.Script(t, `
		BF.RESERVE bf 0.01 480000000 -> +OK
		CF.RESERVE cf 1073741824 -> +OK
		FILTER.CREATE filter bloom CAPACITY 480000000 -> +OK
		DUMP bf -> -ERR value is too large for DUMP; use BF.SCANDUMP
		DUMP cf -> -ERR value is too large for DUMP; use CF.SCANDUMP
		DUMP filter -> -ERR value is too large for DUMP; use FILTER.DUMP`)
}

// TestDumpsInATransaction asks that what is copied at once, since a DUMP before it has frozen the
// filter, is what others get.
func TestDumpsInATransaction(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	for _, line := range []string{
		"BF.RESERVE bf 0.01 10 EXPANSION 2", "CF.RESERVE cf 16 EXPANSION 2", "CMS.INITBYDIM cms 50 3", "TOPK.RESERVE topk 5", "TDIGEST.CREATE digest",
		"CMS.INCRBY cms x 1", "TOPK.ADD topk x y", "TDIGEST.ADD digest 1 2",
	} {
		b.Line(line)
	}
	for i := range 500 {
		b.Line(fmt.Sprint("BF.ADD bf ", i))
		b.Line(fmt.Sprint("CF.ADD cf ", i))
	}
	for _, name := range []string{"bf", "cf", "cms", "topk", "digest"} {
		want, line := b.Line("DUMP "+name), commandtest.Fields("DUMP "+name)
		replies := b.Exec(commandtest.Fields("MULTI"), line, line, commandtest.Fields("EXEC"))
		for i, r := range replies[3].Elems {
			if got := commandtest.Show(r); got != want {
				t.Errorf("%s: DUMP %d of a transaction is another", name, i+1)
			}
		}
	}
}

// TestPieces moves filters by SCANDUMP and LOADCHUNK, and brings pieces in which
// something is wrong.
func TestPieces(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.Line("BF.RESERVE bf 0.01 100")
	b.Line("CF.RESERVE cf 100")
	for i := range 500 {
		item := strings.Repeat("x", i)
		b.Do("BF.ADD", "bf", item)
		b.Do("CF.ADD", "cf", item)
	}
	for _, kind := range []string{"bf", "cf"} {
		iter, pieces := "0", 0
		for {
			r := b.Exec([][]byte{[]byte(kind + ".scandump"), []byte(kind), []byte(iter)})[0]
			next := commandtest.Show(r.Elems[0])[1:]
			if next == "0" {
				break
			}
			data := r.Elems[1].Text
			if got := b.Do(kind+".loadchunk", kind+"copy", next, data); got != "+OK" {
				t.Fatalf("%s.LOADCHUNK %s = %s", kind, next, got)
			}
			if pieces++; pieces == 1 {
				for _, bad := range []string{data[:len(data)-1], data + "x", "", strings.Repeat("\xff", len(data))} {
					if got := b.Do(kind+".loadchunk", kind+"bad", next, bad); !strings.HasPrefix(got, "-") || b.Line("EXISTS "+kind+"bad") != ":0" {
						t.Errorf("%s.LOADCHUNK of a wrong header = %s", kind, got)
					}
				}
			} else if got := b.Do(kind+".loadchunk", kind+"copy", next, data+data+"x"); !strings.HasPrefix(got, "-") {
				t.Errorf("%s.LOADCHUNK of too much = %s", kind, got)
			}
			iter = next
		}
		if a, c := b.Do("DUMP", kind), b.Do("DUMP", kind+"copy"); a != c || pieces < 2 {
			t.Errorf("%s: %d pieces make another filter", kind, pieces)
		}
	}
}
