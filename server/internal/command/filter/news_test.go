package filter_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/internal/news"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/command/commandtest"
)

// follower is a copy that is kept by FILTER.NEWS.
type follower struct{ commandtest.Copy }

// ask asks for news until there are none, with further arguments.
func (f *follower) ask(t testing.TB, b *commandtest.Bench, key string, more ...string) {
	t.Helper()
	if failed := f.Ask(t, func(args [][]byte) answer.Reply { return b.Exec(args)[0] }, key, more...); failed != "" {
		t.Fatalf("news of %s: %s", key, failed)
	}
}

// dumped returns the encodings of the parts of a filter.
func dumped(t testing.TB, b *commandtest.Bench, key string) (parts [][]byte) {
	t.Helper()
	for cursor := int64(0); ; {
		r := b.Exec(commandtest.Bytes([]string{"FILTER.DUMP", key, fmt.Sprint(cursor)}))[0]
		if len(r.Elems) != 2 {
			t.Fatalf("dump of %s: %s", key, commandtest.Show(r))
		}
		if cursor = r.Elems[0].N; cursor == 0 {
			return parts
		}
		parts = append(parts, []byte(r.Elems[1].Text))
	}
}

// equal asks that a copy is the filter, byte for byte.
func (f *follower) equal(t testing.TB, b *commandtest.Bench, key, when string) {
	t.Helper()
	want := dumped(t, b, key)
	if len(want) != len(f.Parts) {
		t.Fatalf("%s %s: the copy has %d parts, the filter %d", key, when, len(f.Parts), len(want))
	}
	for i := range want {
		if !bytes.Equal(want[i], f.Parts[i]) {
			t.Fatalf("%s %s: part %d of the copy is another one", key, when, i)
		}
	}
}

// followable are filters of every kind that keys can be added to.
var followable = map[string]string{
	"bloom": "b", "standard": "b", "partitioned": "b", "split": "b",
	"scalable": "s", "counting": "s", "spectral": "s", "stable": "s", "cuckoo": "s", "quotient": "s", "growing": "s", "window": "s", "quorum": "s",
}

// Copies of every kind stay equal, byte for byte, by changes alone; of several parts, too.
func TestNewsOfKinds(t *testing.T) {
	for _, k := range codec.Kinds() {
		form, ok := followable[k.Name]
		if !ok {
			if !k.Features.Static {
				t.Errorf("kind %s is not tested", k.Name)
			}
			continue
		}
		for _, parts := range []int{1, 4} {
			b := commandtest.New(t, 1<<30)
			line := fmt.Sprintf("FILTER.CREATE f %s CAPACITY 20000 ERROR 0.01 PARTS %d", k.Name, parts)
			if k.Name == "window" {
				line += " SPAN 60s GENERATIONS 6"
			}
			b.OK(t, line)
			rng := rand.New(rand.NewPCG(uint64(k.Number), uint64(parts)))
			var f follower
			f.ask(t, b, "f")
			if f.Forms != strings.Repeat("w", parts) {
				t.Errorf("%s: the first news of %d parts are %q", k.Name, parts, f.Forms)
			}
			for round := range 3 {
				for range 20 {
					verb := "FILTER.ADD"
					if k.Features.Delete && rng.IntN(3) == 0 {
						verb = "FILTER.DEL"
					}
					b.Do(verb, "f", fmt.Sprint(rng.IntN(100)), fmt.Sprint(rng.IntN(100)))
				}
				if k.Name == "window" {
					b.Now = b.Now.Add(7 * time.Second)
					b.Line("FILTER.ADD f late")
				}
				f.ask(t, b, "f", "MAX", fmt.Sprint(64+rng.IntN(1000)))
				if strings.Trim(f.Forms, form) != "" {
					t.Errorf("%s: news are %q, want only %s", k.Name, f.Forms, form)
				}
				f.equal(t, b, "f", fmt.Sprint("in round ", round))
			}
			if f.ask(t, b, "f"); f.Forms != "" {
				t.Errorf("%s: news without a change: %q", k.Name, f.Forms)
			}
		}
	}
}

// Everything that is no change of items answers the whole filter.
func TestNewsOfOtherChanges(t *testing.T) {
	for _, change := range []string{
		"FILTER.CLEAR f", "FILTER.UNION f f2", "FILTER.GROW f", "FILTER.FOLD f", "RENAME f2 f", "COPY f2 f REPLACE", "DEL f | FILTER.CREATE f bloom CAPACITY 1000",
		"FILTER.REBUILD f BEGIN CAPACITY 3000 | FILTER.REBUILD f FEED x | FILTER.REBUILD f COMMIT",
	} {
		b := commandtest.New(t, 1<<30)
		for _, name := range []string{"f", "f2"} {
			b.OK(t, "FILTER.CREATE "+name+" bloom CAPACITY 100000")
			b.Line("FILTER.ADD " + name + " only-" + name)
		}
		var f follower
		f.ask(t, b, "f")
		for line := range strings.SplitSeq(change, " | ") {
			if got := b.Line(line); strings.HasPrefix(got, "-") {
				t.Errorf("%s: %s", line, got)
			}
		}
		if f.ask(t, b, "f"); f.Forms != "w" {
			t.Errorf("behind %s news are %q, want the whole filter", change, f.Forms)
		}
		f.equal(t, b, "f", "behind "+change)
		b.Line("FILTER.ADD f more")
		if f.ask(t, b, "f"); f.Forms == "w" {
			t.Errorf("behind %s, and then again behind an add", change)
		}
		f.equal(t, b, "f", "later than "+change)
	}
}

// A ring that has turned answers the whole filter, and one of a name that moved goes with it.
func TestNewsOfTurnedRingsAndNames(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.OK(t, "FILTER.CREATE f bloom CAPACITY 1000")
	var f follower
	f.ask(t, b, "f")
	for i := range 500 {
		b.Do("FILTER.ADD", "f", fmt.Sprint(i))
	}
	if f.ask(t, b, "f"); f.Forms != "w" {
		t.Errorf("a ring that has turned: %q", f.Forms)
	}
	f.equal(t, b, "f", "then")
	b.Line("RENAME f g")
	b.Line("FILTER.ADD g more")
	if f.ask(t, b, "g"); f.Forms != "b" {
		t.Errorf("under another name: %q", f.Forms)
	}
	f.equal(t, b, "g", "renamed")
}

// After a start an equal copy gets nothing by its sum, and any other one the whole filter.
func TestNewsAfterAStart(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.OK(t, "FILTER.CREATE f cuckoo CAPACITY 1000 PARTS 2")
	b.Line("FILTER.ADD f a b c")
	var f follower
	f.ask(t, b, "f")
	old := follower{commandtest.Copy{Token: f.Token, Parts: slices.Clone(f.Parts)}}
	b.Line("FILTER.ADD f d")
	f.ask(t, b, "f")
	b = b.Restart(t, nil)
	if f.ask(t, b, "f", "SUM", f.Sum()); f.Forms != "" {
		t.Errorf("an equal copy gets %q after a start", f.Forms)
	}
	f.equal(t, b, "f", "after a start")
	b.Line("FILTER.ADD f e")
	if f.ask(t, b, "f"); f.Forms != "s" {
		t.Errorf("it goes on with %q", f.Forms)
	}
	f.equal(t, b, "f", "later")
	if old.ask(t, b, "f", "SUM", old.Sum()); old.Forms != "ww" {
		t.Errorf("an older copy gets %q", old.Forms)
	}
	old.equal(t, b, "f", "from an older copy")
}

func TestNewsRefuses(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.OK(t, "FILTER.CREATE f bloom CAPACITY 1000")
	b.OK(t, "FILTER.CREATE c cuckoo CAPACITY 1000")
	b.OK(t, "BF.RESERVE bf 0.01 100")
	b.OK(t, "CF.RESERVE cf 100")
	b.Line("CMS.INITBYDIM cms 10 2")
	b.Line("SET s x")
	b.OK(t, "ACL SETUSER few on >pw ~* +filter.news")
	token := news.New(0, 1).String()
	for line, want := range map[string]string{
		"FILTER.NEWS none":                          "-ERR not found",
		"FILTER.NEWS s":                             "-WRONGTYPE",
		"FILTER.NEWS cms":                           "-WRONGTYPE",
		"FILTER.NEWS f SINCE":                       "-ERR syntax error",
		"FILTER.NEWS f SINCE 1":                     "-ERR a token is",
		"FILTER.NEWS f SUM 12":                      "-ERR SUM must be",
		"FILTER.NEWS f BLOCK 0":                     "-ERR BLOCK",
		"FILTER.NEWS f BLOCK 3600001":               "-ERR BLOCK",
		"FILTER.NEWS f MAX 63":                      "-ERR MAX",
		"FILTER.NEWS f MAX 1e9":                     "-ERR MAX",
		"FILTER.NEWS f MORE 1":                      "-ERR syntax error",
		"FILTER.NEWS f SINCE " + token + " SINCE x": "-ERR syntax error",
		"FILTER.NEWS f MAX 16777216 MAX 64":         "-ERR syntax error",
		"FILTER.NEWS f BLOCK 1 BLOCK 1":             "-ERR syntax error",
	} {
		if got := b.Line(line); !strings.HasPrefix(got, want) {
			t.Errorf("%s = %s, want %s", line, got, want)
		}
	}
	if got := b.Line("FILTER.NEWS f SINCE " + news.Token{Epoch: 7, Numbers: []uint64{5}}.String()); !strings.Contains(got, `"whole"`) {
		t.Errorf("a token of another server: %.100s", got)
	}
	for _, dry := range []string{"FILTER.NEWS f", "ACL DRYRUN few FILTER.NEWS f", "ACL DRYRUN few FILTER.NEWS bf"} {
		if got := b.Line(dry); strings.HasPrefix(got, "-") {
			t.Errorf("%s = %s", dry, got)
		}
	}
	if got := b.Line("ACL DRYRUN few FILTER.NEWS c"); !strings.Contains(got, "filter.dump") {
		t.Errorf("DRYRUN: %s", got)
	}
	for key, kind := range map[string]string{"c": "cuckoo", "cf": "cf"} {
		if got := b.As(t, "few", "FILTER.NEWS", key); !strings.HasPrefix(got, "-NOPERM news of a filter of kind "+kind+" ") {
			t.Errorf("without the right to DUMP: %.100s", got)
		}
	}
	if got := b.Do("FILTER.NEWS", "f"); !strings.Contains(got, `"whole"`) {
		t.Errorf("bits need no such right: %.100s", got)
	}
}

// A token that says more than has happened is answered with the whole filter.
func TestNewsOfTheFuture(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.OK(t, "FILTER.CREATE f bloom CAPACITY 1000")
	var f follower
	f.ask(t, b, "f")
	token, _ := news.ParseToken(f.Token)
	token.Numbers[0] += 1000
	if got := b.Line("FILTER.NEWS f SINCE " + token.String()); !strings.Contains(got, `"whole"`) {
		t.Errorf("a number that was never reached: %.100s", got)
	}
}

// What is noted for followers counts, is at most a quarter of the filter, and goes when nobody
// has asked for an hour, and with the filter.
func TestNewsMemory(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	for _, create := range []string{"FILTER.CREATE f bloom CAPACITY 100000", "FILTER.CREATE f cuckoo CAPACITY 100000", "BF.RESERVE f 0.01 100000", "CF.RESERVE f 100000"} {
		b.OK(t, create)
		usage := func() (n int64) { _, _ = fmt.Sscanf(b.Line("MEMORY USAGE f"), ":%d", &n); return n }
		before, used := usage(), b.State.Bytes()
		b.Line("FILTER.NEWS f MAX 64")
		after := usage()
		if ring := after - before; ring < before/5 || ring > before/4 || b.State.Bytes()-used != ring {
			t.Errorf("%s: news of %d bytes take %d, and the state %d more", create, before, ring, b.State.Bytes()-used)
		}
		b.Now = b.Now.Add(time.Hour - time.Minute)
		b.Line("FILTER.NEWS f MAX 64")
		b.Now = b.Now.Add(time.Hour)
		if b.Engine.Sweep(1); usage() != after {
			t.Errorf("news are forgotten within the hour")
		}
		b.Now = b.Now.Add(time.Second)
		if b.Engine.Sweep(1); usage() != before || b.State.Bytes() != used {
			t.Errorf("news that nobody asks for stay")
		}
		b.Line("FILTER.NEWS f MAX 64")
		b.Line("DEL f")
		if b.Engine.Sweep(1); b.State.Bytes() >= used {
			t.Errorf("news of a filter that is gone stay")
		}
	}
	small := commandtest.New(t, 1<<20)
	small.OK(t, "FILTER.CREATE f bloom CAPACITY 700000")
	if got := small.Line("FILTER.NEWS f"); !strings.HasPrefix(got, "-OOM") {
		t.Errorf("without memory: %.100s", got)
	}
}

// 1,000 keys more in a full filter of a million are at most 6,500 bytes.
func TestNewsAreShort(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	full := bloom.New(1_000_000, 0.01)
	for i := range 1_000_000 {
		full.AddHash(hashing.Hasher{}.HashUint64(uint64(i)))
	}
	data, _ := full.MarshalBinary()
	b.Do("FILTER.LOAD", "f", "1", string(data))
	var f follower
	f.ask(t, b, "f")
	words := []string{"FILTER.ADD", "f"}
	for i := range 1000 {
		words = append(words, fmt.Sprint("new ", i))
	}
	b.Do(words...)
	f.ask(t, b, "f")
	if t.Logf("1,000 keys: %d bytes of %s", f.Bytes, f.Forms); f.Bytes > 6500 || f.Forms != "b" {
		t.Errorf("1,000 keys more take %d bytes of %s, want at most 6,500 of bits", f.Bytes, f.Forms)
	}
	f.equal(t, b, "f", "with 1,000 keys more")
}

// The sum of a copy is found part by part, with little memory; without that the answer is all.
func TestNewsSumInLittleMemory(t *testing.T) {
	for _, tt := range []struct {
		memory int64
		parts  int
		forms  string
	}{{32 << 20, 8, ""}, {14 << 20, 8, ""}, {32 << 20, 1, ""}} {
		b := commandtest.New(t, tt.memory)
		b.OK(t, fmt.Sprintf("FILTER.CREATE f bloom CAPACITY 4000000 ERROR 0.01 PARTS %d", tt.parts)) // 5 MB
		b.Line("FILTER.ADD f a b c")
		var f follower
		f.ask(t, b, "f")
		f.Token = news.New(7, tt.parts).String() // as after a start
		if f.ask(t, b, "f", "SUM", f.Sum()); f.Forms != tt.forms {
			t.Errorf("%d bytes, %d parts: an equal copy gets %q", tt.memory, tt.parts, f.Forms)
		}
		b.Line("PING") // what was held for the last answer is given back
		if held := b.Engine.Budget.Clients(); held != 0 {
			t.Errorf("%d bytes stay held", held)
		}
	}
}

// One answer has parts up to MAX by their sizes, not by what is left of them when compressed.
func TestNewsMaxBoundsTheWork(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.OK(t, "FILTER.CREATE f bloom CAPACITY 400000 ERROR 0.01 PARTS 4") // of 128 KB each, and empty
	for most, want := range map[int]int{64: 1, 100_000: 1, 200_000: 2, 10_000_000: 4} {
		r := b.Exec(commandtest.Bytes([]string{"FILTER.NEWS", "f", "MAX", fmt.Sprint(most)}))[0]
		if got := len(r.Elems[2].Elems); got != want || (r.Elems[1].N == 1) != (want < 4) {
			t.Errorf("MAX %d: %d parts, want %d, more is %d", most, got, want, r.Elems[1].N)
		}
	}
}

// TestNewsBeginWithWhatIsLacking changes all parts by more than the server remembers between the answers, each of which has one
// part: those that have not come yet come first.
func TestNewsBeginWithWhatIsLacking(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.OK(t, "FILTER.CREATE f bloom CAPACITY 400 PARTS 4 NEWS 1")
	token := news.Token{}
	for i := range 4 {
		ask := []string{"FILTER.NEWS", "f", "MAX", "64"}
		if i > 0 {
			ask = append(ask, "SINCE", token.String())
		}
		r := b.Exec(commandtest.Bytes(ask))[0]
		if got := r.Elems[2].Elems; len(got) != 1 || got[0].Elems[0].N != int64(i) {
			t.Fatalf("answer %d is %s, want part %d", i, commandtest.Show(r), i)
		}
		var err error
		if token, err = news.ParseToken(r.Elems[0].Text); err != nil {
			t.Fatal(err)
		}
		for j := range 100 {
			b.Do("FILTER.ADD", "f", fmt.Sprint(i, " ", j))
		}
	}
}

// What is held while an answer is on its way is its size, not that of the filter.
func TestNewsHoldWhatIsSent(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.OK(t, "FILTER.CREATE f bloom CAPACITY 4000000 ERROR 0.01") // 5 MB, and empty
	r := b.Exec(commandtest.Bytes([]string{"FILTER.NEWS", "f"}))[0]
	sent := len(r.Elems[2].Elems[0].Elems[2].Text)
	if held := b.Engine.Budget.Clients(); held < int64(sent) || held > int64(2*sent+64<<10) {
		t.Errorf("%d bytes are held for an answer of %d", held, sent)
	}
}

// TestNewsOfOldAndNew adds batches in which some items are there already: a few are noted with the new ones, and are no news.
// The answers are those of a filter that nobody follows.
func TestNewsOfOldAndNew(t *testing.T) {
	for _, kind := range []string{"bloom", "split", "standard", "partitioned"} {
		b := commandtest.New(t, 1<<30)
		b.OK(t, "FILTER.CREATE f "+kind+" CAPACITY 20000 NEWS 4000")
		b.OK(t, "FILTER.CREATE plain "+kind+" CAPACITY 20000")
		rng := rand.New(rand.NewPCG(32, 5))
		var f follower
		f.ask(t, b, "f")
		for round := range 30 {
			batch, old := []string{"FILTER.ADD", "f"}, rng.IntN(60)
			for i := range 100 {
				if i < old && round > 0 || i == 99 && old == 0 {
					batch = append(batch, fmt.Sprint("item 0 ", i))
				} else {
					batch = append(batch, fmt.Sprint("item ", round, " ", i))
				}
			}
			rng.Shuffle(len(batch)-2, func(i, j int) { batch[i+2], batch[j+2] = batch[j+2], batch[i+2] })
			got := b.Do(batch...)
			if batch[1] = "plain"; got != b.Do(batch...) {
				t.Errorf("%s, round %d: the answer to who adds is %s", kind, round, got)
			}
			if f.ask(t, b, "f", "MAX", fmt.Sprint(64+rng.IntN(400))); strings.Trim(f.Forms, "b") != "" || f.Forms == "" {
				t.Errorf("%s, round %d: news are %q", kind, round, f.Forms)
			}
			f.equal(t, b, "f", fmt.Sprint("in round ", round))
		}
	}
}
