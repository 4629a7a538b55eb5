package filter_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/quotient"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/command/commandtest"
	"github.com/bloomery/bloomery/server/internal/store"
)

// piecesOf returns the words of FILTER.LOAD for every piece of a filter, without the
// key.
func piecesOf(t *testing.T, b *bench, key string) [][]string {
	t.Helper()
	var all [][]string
	for cursor := "0"; ; {
		r := b.Exec([][]byte{[]byte("FILTER.DUMP"), []byte(key), []byte(cursor)})[0]
		if len(r.Elems) != 2 {
			t.Fatalf("FILTER.DUMP %s %s = %s", key, cursor, commandtest.Show(r))
		}
		if cursor = fmt.Sprint(r.Elems[0].N); cursor == "0" {
			return all
		}
		all = append(all, []string{cursor, r.Elems[1].Text})
	}
}

// TestFilterLoadBegins asks that a load which another one has begun before does not
// mix with it: a whole filter, or one of another version.
func TestFilterLoadBegins(t *testing.T) {
	b := newBench(t, 1<<30)
	b.Line("FILTER.CREATE four bloom CAPACITY 1000 PARTS 4")
	b.Line("FILTER.CREATE one bloom CAPACITY 1000")
	b.Line("FILTER.ADD four a b c d e f g h")
	b.Line("FILTER.ADD one A B C D E F G H")
	four, one := piecesOf(t, b, "four"), piecesOf(t, b, "one")
	load := func(want string, words ...string) {
		t.Helper()
		if got := b.Do(append([]string{"FILTER.LOAD", "x"}, words...)...); got != want {
			t.Errorf("FILTER.LOAD x %s = %s, want %s", words[0], got, want)
		}
	}
	has := func(items, want string) {
		t.Helper()
		if got := b.Line("FILTER.HAS x " + items); got != want {
			t.Errorf("%s: %s, want %s", items, got, want)
		}
	}
	all := "[" + strings.Repeat("true ", 7) + "true]"
	const lone = "-ERR no load of which this is a piece is under way: a load begins with its first piece. " +
		"If this one was sent again, the filter may be loaded"
	for i, p := range four {
		load("+OK", four[0]...)
		if i > 0 {
			load("+OK", p...)
		}
		load("+OK", one[0]...)
		has("A B C D E F G H", all)
		b.Line("DEL x")
	}
	load("+OK", append(four[0], "VERSION", "7")...)
	for _, p := range four[1:] {
		load(lone, append(p, "VERSION", "9")...) // of another filter than the first
	}
	if got := b.Line("EXISTS x"); got != ":0" {
		t.Errorf("pieces of two versions have made a filter")
	}
	for i, p := range four {
		load([]string{"+OK", "+OK", "+OK", ":1"}[i], append(p, "VERSION", "9")...)
	}
	has("a b c d e f g h", all)
	load(":0", append(four[0], "VERSION", "9")...)
	b.Crash(t)
}

// TestFilterLoadNames asks that names of filters which are on their way count as the
// memory of their client, until it goes.
func TestFilterLoadNames(t *testing.T) {
	const limit = 4 << 20
	b := newBench(t, limit)
	b.Line("FILTER.CREATE two bloom CAPACITY 10 PARTS 2")
	first := piecesOf(t, b, "two")[0]
	held, got := 0, "+OK"
	for i := 0; got == "+OK" && held <= 2*limit; i++ {
		name := fmt.Sprint(i, strings.Repeat("n", 256<<10))
		if got = b.Do(append([]string{"FILTER.LOAD", name}, first...)...); got == "+OK" {
			held += len(name)
		}
	}
	if got != "-"+answer.TextOOM || held > limit {
		t.Errorf("after names of %d bytes: %s, want OOM; the limit is %d", held, got, limit)
	}
	if n := b.Session.Memory(); n < int64(held) {
		t.Errorf("%d bytes are held for the client, its names have %d", n, held)
	}
	b.Engine.Close(b.Session)
	if n := b.Session.Memory(); n != 0 {
		t.Errorf("%d bytes are held for a client that is gone", n)
	}
	if n := len(b.State.Names.Unnamed()); n != 0 {
		t.Errorf("%d filters without a name are left", n)
	}
	if n := b.Engine.Budget.Used() - b.State.Bytes(); n != 0 {
		t.Errorf("%d bytes stay set aside", n)
	}
}

// TestFilterQueued asks that commands of a transaction see what those before them
// have done.
func TestFilterQueued(t *testing.T) {
	b := newBench(t, 1<<30)
	b.Line("FILTER.CREATE four bloom CAPACITY 1000 PARTS 4")
	b.Line("FILTER.CREATE one bloom CAPACITY 1000")
	b.Line("FILTER.ADD one a")
	four, one := piecesOf(t, b, "four"), piecesOf(t, b, "one")[0]
	load := func(key string, words ...string) []string { return append([]string{"FILTER.LOAD", key}, words...) }
	b.Do(load("v", one[0], one[1], "VERSION", "9")...)
	b.Line("SET s 1")
	twice := [][]string{}
	want := []string{}
	for range 2 {
		for _, p := range four {
			twice, want = append(twice, load("t", p...)), append(want, "+OK")
		}
	}
	for _, tt := range []struct {
		commands [][]string
		want     string
	}{
		{[][]string{{"FILTER.CREATE", "new", "bloom"}, {"FILTER.CREATE", "like", "bloom", "LIKE", "new"}, {"FILTER.ADD", "like", "a"}}, "[+OK +OK [true]]"},
		{[][]string{{"DEL", "v"}, load("v", one[0], one[1], "VERSION", "5"), {"FILTER.HAS", "v", "a"}}, "[:1 :1 [true]]"},
		{[][]string{load("v", one[0], one[1], "VERSION", "5"), load("v", one[0], one[1], "VERSION", "6"), load("v", one[0], one[1], "VERSION", "6")}, "[:0 :1 :0]"},
		{[][]string{{"DEL", "s"}, load("s", one...), {"FILTER.HAS", "s", "a"}}, "[:1 +OK [true]]"},
		{[][]string{{"SET", "y", "1"}, load("y", one...)}, "[+OK -" + answer.TextWrongType + "]"},
		{twice, "[" + strings.Join(want, " ") + "]"},
	} {
		b.Line("MULTI")
		for _, words := range tt.commands {
			b.Do(words...)
		}
		if got := b.Line("EXEC"); got != tt.want {
			t.Errorf("%.120q\n got %s\nwant %s", tt.commands, got, tt.want)
		}
	}
	if n := len(b.State.Names.Unnamed()); n != 0 {
		t.Errorf("%d filters without a name are left", n)
	}
	b.Crash(t)
}

// TestFilterLoadOfTooManyMembers loads the first part of a quorum that says that it has
// very many: it is refused before anything is made.
func TestFilterLoadOfTooManyMembers(t *testing.T) {
	b := newBench(t, 1<<30)
	b.OK(t, "FILTER.CREATE q quorum CAPACITY 10 MEMBERS 32 NEED 2")
	piece, used := piecesOf(t, b, "q")[0][1], b.Engine.Budget.Used()
	const want = "-ERR store: load: too large: 4096 parts of 32 members, and there may be 65536 at most"
	if got := b.Do("FILTER.LOAD", "x", fmt.Sprint(uint64(4095<<32|1)), piece); got != want || b.Engine.Budget.Used() != used {
		t.Errorf("32 members in 4,096 parts: %s, and %d bytes more are in use", got, b.Engine.Budget.Used()-used)
	}
	if got := b.Do("FILTER.LOAD", "x", fmt.Sprint(uint64(2047<<32|1)), piece); got != "+OK" {
		t.Errorf("32 members in 2,048 parts: %s", got)
	}
}

// TestCrowdedFiltersAreNotLoaded asks that a quotient filter whose keys were chosen to
// make every command on it slow is refused, in every way that it may come, and that
// one as full as it can be by chance is loaded.
func TestCrowdedFiltersAreNotLoaded(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	all := func() uint64 { return r.Uint64() }
	some := func() uint64 { return 1<<62 + r.Uint64N(1<<58) }
	filled := func(next func() uint64) *quotient.Filter {
		f := quotient.New(100_000, 0.001)
		for f.InsertHash(next()) == nil {
		}
		return f
	}
	crowded := filled(some)
	for range 2 { // what each filter takes, several together do not
		if err := crowded.Merge(filled(some)); err != nil {
			t.Fatal(err)
		}
	}
	b := newBench(t, 1<<30)
	for _, c := range []struct {
		f    *quotient.Filter
		want string
	}{{filled(all), "+OK"}, {crowded, "-ERR the filter is not loaded: the hashes of its keys are too much alike"}} {
		data, err := c.f.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		if got := b.Do("FILTER.LOAD", "x", "1", string(data)); !strings.HasPrefix(got, c.want) {
			t.Errorf("FILTER.LOAD = %.300s, want %s", got, c.want)
		}
		if loaded := b.Line("EXISTS x") == ":1"; loaded != (c.want == "+OK") {
			t.Errorf("the filter is there: %v, want %s", loaded, c.want)
		}
		b.Line("DEL x")
	}
}

// TestMembersThatGrow loads quorums with members that grow, which only programs make: what they grow by counts, max-memory
// bounds it, and it is given back.
func TestMembersThatGrow(t *testing.T) {
	fixed, small := bloom.New(10_000, 0.01), bloom.New(10, 0.01)
	scalable, growing := bloom.NewScalable(10, 0.01), quotient.NewGrowing(10, 0.01)
	for name, members := range map[string][]bloomery.Hashed{
		"scalable": {scalable}, "growing": {growing}, "fixed and scalable": {fixed, scalable}, "fixed and growing": {fixed, growing}, "small and growing": {small, growing},
	} {
		q, err := compose.NewQuorum(1, members...)
		if err != nil {
			t.Fatal(err)
		}
		data, err := q.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		const limit = 400 << 10
		b := newBench(t, limit)
		if got := b.Do("FILTER.LOAD", "q", "1", string(data)); got != "+OK" {
			t.Fatalf("%s: %s", name, got)
		}
		counts := func(when string) {
			t.Helper()
			if n, want := b.State.Bytes(), store.Cost("q", b.State.Names.Get([]byte("q"))); n != want {
				t.Errorf("%s, %s: the state counts %d bytes of %d", name, when, n, want)
			}
		}
		got := ""
		for i := 0; i < 300 && !strings.Contains(got, answer.TextOOM); i++ {
			got = b.Do(append([]string{"FILTER.ADD", "q"}, itemsOf("i", 1000*i, 1000*i+1000)...)...)
		}
		if n := b.State.Bytes(); !strings.Contains(got, answer.TextOOM) || n > limit || n < limit/8 {
			t.Errorf("%s: %d bytes, and no more are refused: %.80s", name, n, got)
		}
		counts("full")
		b.OK(t, "FILTER.CLEAR q")
		counts("empty")
		b.Line("DEL q")
		for deadline := time.Now().Add(30 * time.Second); b.State.Bytes() != 0 || b.State.Mapped() != 0; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: %d bytes are counted, and %d are mapped, of a filter that is gone", name, b.State.Bytes(), b.State.Mapped())
			}
		}
	}
}
