package command_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/codec"
)

// TestFilterCommands runs scripts as TestCommands does.
func TestFilterCommands(t *testing.T) {
	scripts := map[string]string{
		"bloom": `
			FILTER.CREATE f bloom CAPACITY 1000 ERROR 0.01 -> +OK
			FILTER.CREATE f bloom -> -ERR item exists
			FILTER.CREATE f bloom NX -> :0
			FILTER.CREATE g bloom NX -> :1
			FILTER.ADD f a b -> [true true]
			FILTER.ADD f b c -> [false true]
			FILTER.HAS f a b c d -> [true true true false]
			FILTER.CARD f -> :3
			FILTER.DEL f a -> -ERR FILTER.DEL is not for kind bloom; it is for counting, cuckoo, quotient, growing
			FILTER.COUNT f a -> -ERR FILTER.COUNT is not for kind bloom; it is for counting, spectral, cuckoo, quotient, growing
			FILTER.CLEAR f -> +OK
			FILTER.HAS f a -> [false]
			TYPE f -> +bloomery-
			OBJECT ENCODING f -> "raw"
			SCAN 0 TYPE bloomery- COUNT 1000 -> ["0" ["f" "g"]]
			RENAME f h -> +OK
			EXISTS f h -> :1
			EXPIRE h 100 -> :1
			TTL h -> :100
			DEL g h -> :2`,
		"cuckoo": `
			FILTER.CREATE f cuckoo CAPACITY 1000 -> +OK
			FILTER.ADD f a a b -> [true false true]
			FILTER.COUNT f a b c -> [:2 :1 :0]
			FILTER.DEL f a c -> [true false]
			FILTER.DEL f a -> [true]
			FILTER.HAS f a b -> [false true]
			FILTER.CARD f -> :1`,
		"parts": `
			FILTER.CREATE f counting CAPACITY 1000 PARTS 8 -> +OK
			FILTER.ADD f a b c d e f -> [true true true true true true]
			FILTER.ADD f f g -> [false true]
			FILTER.HAS f a b c d e f g h -> [true true true true true true true false]
			FILTER.COUNT f a f h -> [:1 :2 :0]
			FILTER.DEL f a h -> [true false]
			FILTER.HAS f a -> [false]
			FILTER.CARD f -> :6`,
		"hashes": `
			FILTER.CREATE f bloom -> +OK
			FILTER.ADDHASH f 17 0xfFfFfFfFfFfFfFfF -> [true true]
			FILTER.HASHASH f 0x11 18446744073709551615 18 -> [true true false]
			FILTER.HASHASH f 18446744073709551616 -> -ERR a hash is a number from 0 to 18446744073709551615, or 0x and up to 16 hexadecimal digits`,
		"like": `
			FILTER.CREATE f standard CAPACITY 500 SEED 9 PARTS 2 -> +OK
			FILTER.ADD f a -> [true]
			FILTER.CREATE g standard LIKE f -> +OK
			FILTER.HAS g a -> [false]
			FILTER.CREATE h bloom LIKE f -> -ERR LIKE: the other filter is of kind standard, not bloom
			FILTER.CREATE h standard LIKE nokey -> -ERR LIKE: not found
			FILTER.CREATE h standard LIKE f CAPACITY 5 -> -ERR LIKE takes everything from another filter: CAPACITY does not go with it`,
		"other types": `
			SET s 1 -> +OK
			BF.ADD b x -> :1
			FILTER.ADD nokey a -> -ERR not found
			FILTER.HAS nokey a -> -ERR not found
			FILTER.COUNT nokey a -> -ERR not found
			FILTER.CARD nokey -> -ERR not found
			FILTER.INFO nokey -> -ERR not found
			FILTER.CLEAR nokey -> -ERR not found
			FILTER.ADD s a -> -WRONGTYPE Operation against a key holding the wrong kind of value
			FILTER.ADD b a -> -WRONGTYPE Operation against a key holding the wrong kind of value
			FILTER.CREATE s bloom -> -WRONGTYPE Operation against a key holding the wrong kind of value
			FILTER.INFO s -> -WRONGTYPE Operation against a key holding the wrong kind of value
			BF.ADD b y -> :1
			FILTER.CREATE f bloom -> +OK
			BF.ADD f x -> -WRONGTYPE Operation against a key holding the wrong kind of value`,
		"transactions": `
			MULTI -> +OK
			FILTER.CREATE f bloom -> +QUEUED
			FILTER.ADD f a b -> +QUEUED
			FILTER.HAS f a c -> +QUEUED
			EXEC -> [+OK [true true] [true false]]
			WATCH f -> +OK
			FILTER.ADD f z -> [true]
			MULTI -> +OK
			FILTER.ADD f y -> +QUEUED
			EXEC -> nil`,
	}
	for name, script := range scripts {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, 1<<30)
			for line := range strings.Lines(script) {
				words, want, ok := strings.Cut(strings.TrimSpace(line), " -> ")
				if !ok {
					continue
				}
				got := b.line(words)
				if strings.HasPrefix(words, "SCAN") && got != want {
					want = `["0" ["g" "f"]]`
				}
				if got != want {
					t.Fatalf("%s\n got %s\nwant %s", words, got, want)
				}
			}
		})
	}
}

// TestFilterKinds adds to a filter of every kind that can be made, in one part and
// in four, and asks for what was added.
func TestFilterKinds(t *testing.T) {
	for _, k := range codec.Kinds() {
		for _, parts := range []string{"1", "4"} {
			b := newBench(t, 1<<30)
			words := []string{"FILTER.CREATE", "f", k.Name, "CAPACITY", "5000", "ERROR", "0.01", "PARTS", parts}
			if k.Features.Expire {
				words = append(words, "BURST", "6") // all keys come in one generation
			}
			got := b.do(words...)
			if k.Features.Static {
				if !strings.HasPrefix(got, "-ERR kind "+k.Name+" is built") {
					t.Errorf("CREATE %s = %s", k.Name, got)
				}
				continue
			}
			if got != "+OK" {
				t.Fatalf("CREATE %s = %s", k.Name, got)
			}
			items := make([]string, 3000)
			for i := range items {
				items[i] = fmt.Sprint("item", i)
			}
			b.do(append([]string{"FILTER.ADD", "f"}, items...)...)
			if got := b.do(append([]string{"FILTER.HAS", "f"}, items...)...); strings.Contains(got, "false") || strings.Count(got, "true") != len(items) {
				t.Errorf("%s of %s parts: items are missing", k.Name, parts)
			}
			absent := make([]string, 3000)
			for i := range absent {
				absent[i] = fmt.Sprint("absent", i)
			}
			// At 60% of the capacity the rate is below 1%: 30 ± 5.5.
			if n := strings.Count(b.do(append([]string{"FILTER.HAS", "f"}, absent...)...), "true"); n > 30+4*6 {
				t.Errorf("%s of %s parts: %d false positives of 3000", k.Name, parts, n)
			}
			if info := b.do("FILTER.INFO", "f"); !strings.Contains(info, fmt.Sprintf("%q", k.Name)) {
				t.Errorf("INFO = %s", info)
			}
			crash(t, b)
			if err := b.door.Snapshot(); err != nil {
				t.Fatal(err)
			}
			crash(t, b)
			b.do("FLUSHALL")
			if n := b.state.Bytes(); n != 0 {
				t.Errorf("%s: %d bytes are left", k.Name, n)
			}
		}
	}
}
