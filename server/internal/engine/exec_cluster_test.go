package engine_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/command"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/session"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// transaction runs lines between MULTI and EXEC and returns the answer of EXEC.
func (c *client) transaction(lines ...string) string {
	c.line("MULTI")
	for _, l := range lines {
		c.line(l)
	}
	return c.line("EXEC")
}

// TestGroups asks for the answers to transactions in a cluster.
func TestGroups(t *testing.T) {
	const discarded = "-EXECABORT Transaction discarded: in a cluster it is one message, and "
	for _, tt := range []struct {
		lines string // with semicolons
		want  string
	}{
		{"PING; ECHO x", `[+PONG "x"]`},
		{"SET a 1; INCR a; INCR n; DEL s", "[+OK :2 :6 :1]"},
		{"INCR a; EXPIRE a 60; TTL a", "[:1 :1 :60]"},
		{"SET a 1; GET a; SET a 2; GET a; MGET a s", `[+OK "1" +OK "2" ["2" "v"]]`},
		{"GET s; DEL s; GET s; EXISTS s", `["v" :1 nil :0]`},
		{"GET s; GET none; BF.EXISTS b i; CF.COUNT c i", `["v" nil :1 :1]`},
		{"BF.ADD b x; BF.ADD b x; BF.MADD b y i", "[:1 :0 [true false]]"},
		{"BF.EXISTS b x; BF.ADD b x; BF.EXISTS b x; GET s", `[:0 :1 :1 "v"]`},
		{"CF.ADD c x; CF.ADD c x; CF.COUNT c x; CF.DEL c x; CF.COUNT c x", "[:1 :1 :2 :1 :1]"},
		{"TOPK.ADD k x; TOPK.LIST k", `[[nil] ["i" "x"]]`},
		{"CMS.INCRBY m x 2; CMS.INCRBY m x 3; CMS.QUERY m x", "[[:2] [:5] [:5]]"},
		{"TDIGEST.ADD d 5; TDIGEST.MAX d", "[+OK 5]"},
		{"FILTER.ADD f x; FILTER.HAS f x i", "[[true] [true true]]"},
		{"MSET x 1 y 2; MGET x y", `[+OK ["1" "2"]]`},
		{"RENAME s new; GET new; GET s", `[+OK "v" nil]`},
		{"FLUSHALL; DBSIZE; SET a 1; DBSIZE", "[+OK :0 +OK :1]"},
		{"BF.RESERVE new 0.01 100; TYPE new; EXPIRE new 10", "[+OK +MBbloom-- :1]"},
		{"BF.RESERVE b 0.01 100; DEL s", "[-ERR item exists :1]"},
		{"SET s 1 NX; SET s 2 XX GET; GETDEL s", `[nil "v" "2"]`},
		{"SET s x EX 0; SET a 1", "[-ERR invalid expire time in 'set' command +OK]"},
		{"CF.COMPACT c; CF.ADD c x", "[+OK :1]"},
		{"COPY s new; GET new", `[:1 "v"]`},
		{"BF.ADD b x; SET a 1", discarded + "it changes more than one filter, or a filter and names or strings"},
		{"BF.ADD b x; CF.ADD c x", discarded + "it changes more than one filter, or a filter and names or strings"},
		{"BF.ADD new x", discarded + "'bf.add' cannot be part of one: filters have to be there"},
		{"FILTER.ADD p x y z w", discarded + "'filter.add' cannot be part of one"},
		{"CMS.MERGE m 1 m", discarded + "'cms.merge' cannot be part of one: a merge reads sketches that others may change before the message is applied; without MULTI"},
		{"TDIGEST.MERGE d 1 d", discarded + "'tdigest.merge' cannot be part of one: a merge reads sketches"},
		{"DEL b; BF.RESERVE b 0.01 100", discarded + "'bf.reserve' depends on a key that the commands before it change"},
		{"SET a 1; BF.RESERVE a 0.01 100", discarded + "'bf.reserve' depends on a key"},
		{"SET s w; COPY s new", discarded + "'copy' depends on a key"},
		{"DEL c; CF.COMPACT c", discarded + "'cf.compact' depends on a key"},
		{"SET a 1; GETEX a EX 10", discarded + "'getex' depends on a key"},
		{"SET a 1; COPY a z", discarded + "'copy' depends on a key"},
	} {
		b, d := newShared(t, 1<<30)
		setup(b)
		before := string(snapshot(b.state))
		lines := strings.Split(tt.lines, "; ")
		got := b.transaction(lines...)
		if got != tt.want && (!strings.HasPrefix(tt.want, discarded) || !strings.HasPrefix(got, tt.want)) {
			t.Errorf("%s = %s, want %s", tt.lines, got, tt.want)
		}
		if strings.HasPrefix(tt.want, discarded) && !strings.HasSuffix(got, "(redis-py: pipeline(transaction=False))") {
			t.Errorf("%s = %s, without what to do instead", tt.lines, got)
		}
		if strings.HasPrefix(got, "-") && string(snapshot(b.state)) != before {
			t.Errorf("%s = %s, and the state has changed", tt.lines, got)
		}
		if b.session.Busy() || b.line("PING") != "+PONG" || len(d.flight) != 0 {
			t.Errorf("%s: a transaction is open", tt.lines)
		}
		b.engine.Release(b.session)
		if got := b.engine.Budget.Used() - b.state.Bytes(); got != 0 {
			t.Errorf("%s: %d bytes stay set aside or held", tt.lines, got)
		}
	}
}

// TestGroupIsOneMessage asks that a transaction is put in order at once, as a group.
func TestGroupIsOneMessage(t *testing.T) {
	b, d := newShared(t, 1<<30)
	setup(b)
	before := len(d.testDoor.groups)
	b.transaction("SET a 1", "INCR a", "GET a", "EXPIRE a 10")
	if got := len(d.testDoor.groups) - before; got != 1 || len(d.testDoor.groups[before]) != 3 {
		t.Errorf("%d groups, want one of 3 records", got)
	}
	before = len(d.testDoor.groups)
	if got := b.transaction("GET a", "BF.EXISTS b i", "TTL a"); len(d.testDoor.groups) != before {
		t.Errorf("a transaction of reads sends something: %s", got)
	}
	if got := b.line("MSET a 1 b 2"); got != "+OK" || len(d.testDoor.groups) != before+1 {
		t.Errorf("MSET = %s, with %d groups", got, len(d.testDoor.groups)-before)
	}
}

// TestGroupConditions lets another client write between the moment at which a
// transaction is prepared and the one at which it is applied.
func TestGroupConditions(t *testing.T) {
	for _, tt := range []struct {
		watch, other, lines, want string
		tries                     int
	}{
		// Records decide by themselves what they meet.
		{"", "SET a 7", "INCR a", "[:8]", 1},
		{"", "DEL s", "SET s x XX", "[nil]", 1},
		{"", "BF.ADD b x", "BF.ADD b x", "[:0]", 1},
		{"", "SET a 7", "SET zz 1; GET a", `[+OK "7"]`, 1},
		// What was read in front has changed: all is prepared again.
		{"", "SET s w", "GET s; SET zz 1", `["w" +OK]`, 2},
		{"", "SET none w", "GET none; SET zz 1", `["w" +OK]`, 2},
		{"", "EXPIRE s 9", "TTL s; SET zz 1", "[:9 +OK]", 2},
		{"", "BF.ADD b x", "BF.EXISTS b x; BF.ADD b y", "[:1 :1]", 2},
		{"", "DEL b", "BF.RESERVE b 0.01 10; SET zz 1", "[+OK +OK]", 2},
		{"", "SET other 1", "GET s; SET zz 1", `["v" +OK]`, 1},
		{"", "SET s w", "COPY s zz; GET zz", `[:1 "w"]`, 2},
		// What was watched has changed: nothing is done.
		{"s", "SET s w", "SET zz 1", "nil", 1},
		{"none", "SET none 1", "SET zz 1", "nil", 1},
		{"t", "PERSIST t", "SET zz 1", "nil", 1},
		{"b", "BF.ADD b x", "BF.ADD b y", "nil", 1},
		{"s none", "SET other 1", "SET zz 1", "[+OK]", 1},
		{"b", "SET other 1", "BF.ADD b y", "[:1]", 1},
		{"b", "", "SET zz 1", "-EXECABORT", 0},
		{"s", "", "BF.ADD b x", "-EXECABORT", 0},
		{"c", "", "BF.ADD b x", "-EXECABORT", 0},
	} {
		b, d := newShared(t, 1<<30)
		setup(b)
		tries := 0
		d.between = func() {
			if tries++; tries == 1 && tt.other != "" {
				if got := b.other(tt.other); strings.HasPrefix(got, "-") {
					t.Fatalf("%s = %s", tt.other, got)
				}
			}
		}
		if tt.watch != "" {
			b.line("WATCH " + tt.watch)
		}
		got := b.transaction(strings.Split(tt.lines, "; ")...)
		if got != tt.want && (tt.want != "-EXECABORT" || !strings.HasPrefix(got, tt.want)) || tries != tt.tries {
			t.Errorf("WATCH %s, %s beside %s = %s after %d tries, want %s after %d", tt.watch, tt.lines, tt.other, got, tries, tt.want, tt.tries)
		}
		if got == "nil" && b.line("GET zz") != "nil" {
			t.Errorf("%s is done although a key has changed", tt.lines)
		}
		if got := b.transaction("PING"); got != "[+PONG]" {
			t.Errorf("the next transaction = %s", got)
		}
	}
	b, d := newShared(t, 1<<30)
	setup(b)
	n := 0
	d.between = func() { n++; b.other(fmt.Sprint("SET s ", n)) }
	if got := b.transaction("GET s", "SET zz 1"); !strings.HasPrefix(got, "-TRYAGAIN") || b.line("GET zz") != "nil" {
		t.Errorf("keys that change all the time: %s", got)
	}
}

// other runs a command of another machine, which no gate keeps out.
func (b *bench) other(line string) string {
	e := engine.New(engine.Config{
		Commands: command.All(), State: b.state, Door: b.door.Door, Host: b, MaxMemory: 1 << 30, Clock: b.clock,
	})
	c := &client{b: &bench{engine: e}, session: engine.NewSession(99, "", "", b.now, func() {})}
	return c.line(line)
}

// TestGroupsAreLost asks what is answered if nobody knows what came of a transaction,
// or if it was not sent.
func TestGroupsAreLost(t *testing.T) {
	for _, tt := range []struct {
		lose, noGroup error
		want          string
	}{
		{fmt.Errorf("%w: test", door.ErrUnknown), nil, "-UNKNOWN the write may be kept or not (test)"},
		{fmt.Errorf("%w: cluster: test", door.ErrDown), nil, "-CLUSTERDOWN Writes are refused, reads go on (test)"},
		{nil, fmt.Errorf("%w: test", door.ErrDown), "-CLUSTERDOWN "},
		{nil, fmt.Errorf("%w: test", door.ErrMemory), "-OOM "},
		{nil, fmt.Errorf("%w: test", door.ErrGroup), "-EXECABORT "},
	} {
		b, d := newShared(t, 1<<30)
		setup(b)
		d.lose, d.noGroup = tt.lose, tt.noGroup
		if got := b.transaction("SET a 1", "GET a"); !strings.HasPrefix(got, tt.want) {
			t.Errorf("a transaction = %s, want %s", got, tt.want)
		}
		if got := b.line("MSET a 1 zz 2"); !strings.HasPrefix(got, strings.Replace(tt.want, "EXECABORT", "ERR", 1)) {
			t.Errorf("MSET = %s, want %s", got, tt.want)
		}
		d.lose, d.noGroup = nil, nil
		b.engine.Release(b.session)
		if got := b.engine.Budget.Used() - b.state.Bytes(); got != 0 || b.line("GET a") != "nil" {
			t.Errorf("%d bytes stay set aside; a = %s", got, b.line("GET a"))
		}
	}
	b, d := newShared(t, 1<<30)
	d.most = 2000
	long := strings.Repeat("x", 500)
	if got := b.transaction("SET a "+long, "SET b "+long, "SET c "+long, "SET d "+long); !strings.HasPrefix(got, "-EXECABORT") || !strings.Contains(got, "bytes") {
		t.Errorf("a transaction that is too long = %s", got)
	}
	if got := b.line("DBSIZE"); got != ":0" {
		t.Errorf("DBSIZE = %s", got)
	}
}

// TestRefusedGroupsLetGo asks that a transaction that is refused, or prepared again,
// keeps nothing frozen: the next DUMP would wait for it for ever.
func TestRefusedGroupsLetGo(t *testing.T) {
	b, d := newShared(t, 1<<30)
	b.lines(setupLines...)
	n := 0
	d.between = func() {
		if n++; n == 1 {
			b.other("SET s w")
		}
	}
	if got := b.transaction("DUMP b", "GET s", "SET a 1"); !strings.HasSuffix(got, `"w" +OK]`) || n != 2 {
		t.Errorf("EXEC = %s after %d tries", got, n)
	}
	if got := b.transaction("DUMP b", "BF.ADD b x", "SET a 1"); !strings.HasPrefix(got, "-EXECABORT") {
		t.Errorf("EXEC = %s", got)
	}
	frozen, err := contents.PartOf(b.state.Names.Lookup([]byte("b"), 0)).Contents().Freeze()
	if err != nil {
		t.Fatalf("a filter is still frozen: %v", err)
	}
	_ = frozen.Close()
	b.engine.Release(b.session)
	if got := b.engine.Budget.Used() - b.state.Bytes(); got != 0 {
		t.Errorf("%d bytes stay set aside or held", got)
	}
}

// TestGroupsAnswerAlike runs random transactions over both doors: where the cluster
// takes one, answers and states are the same.
func TestGroupsAnswerAlike(t *testing.T) {
	for seed := range uint64(3) {
		rng := rand.New(rand.NewPCG(seed, 5))
		local := newBench(t, 1<<30)
		shared, _ := newShared(t, 1<<30)
		taken, refused := 0, 0
		for i := range 150 {
			if i%20 == 0 {
				for _, b := range []*bench{local, shared} {
					b.line("FLUSHALL")
					b.lines(setupLines...)
				}
			}
			var lines []string
			for range 1 + rng.IntN(4) {
				if l := renamed(randomLine(rng)); !strings.HasPrefix(l, "MULTI") && !strings.HasPrefix(l, "EXEC") && !strings.HasPrefix(l, "WATCH") {
					lines = append(lines, l)
				}
			}
			before := string(snapshot(shared.state))
			got := shared.transaction(lines...)
			if strings.HasPrefix(got, "-EXECABORT Transaction discarded: in a cluster") {
				if refused++; string(snapshot(shared.state)) != before {
					t.Fatalf("seed %d: %q is refused and has changed the state", seed, lines)
				}
				continue
			}
			if want := local.transaction(lines...); got != want {
				t.Fatalf("seed %d: %q\n= %s\nwant %s", seed, lines, got, want)
			}
			if taken++; string(snapshot(local.state)) != string(snapshot(shared.state)) {
				t.Fatalf("seed %d: the states behind %q differ", seed, lines)
			}
		}
		if taken < 50 || refused < 5 {
			t.Errorf("%d taken, %d refused: the test asks for too little", taken, refused)
		}
	}
}

// renamed makes the keys of a random line those of setup.
func renamed(line string) string {
	return strings.NewReplacer("ka", "s", "kb", "b", "kc", "c", "kd", "n").Replace(line)
}

// groupWork counts what EXEC does in a cluster: how often it finds out where the key of a SET or GET is, and how often it
// reads the clock, which it does for each command that it runs.
type groupWork struct{ keys, readings int }

// countGroups makes b a bench over d whose work is counted. clock is called whenever the clock is read.
func countGroups(b *bench, d *sharedDoor, clock func()) *groupWork {
	work := &groupWork{}
	commands := command.All()
	for i := range commands {
		if name := commands[i].Name; name == "set" || name == "get" {
			commands[i].Keys = traits.Keys{{Access: commands[i].Keys[0].Access, At: func([][]byte) int { work.keys++; return 1 }}}
		}
	}
	b.engine = engine.New(engine.Config{
		Commands: commands, State: b.state, Door: d, Keeper: b.door.Door, Host: b, MaxMemory: 1 << 30,
		Settings: session.NewSettings(session.RedisBloomDefaults(), ""),
		Clock: func() time.Time {
			work.readings++
			clock()
			return b.now
		},
	})
	d.alone = b.engine.Alone
	return work
}

// ofExec runs lines between MULTI and EXEC. It returns the answer of EXEC and the work of that alone.
func (w *groupWork) ofExec(c *client, lines ...string) (got string, of groupWork) {
	c.line("MULTI")
	c.lines(lines...)
	*w = groupWork{}
	got = c.line("EXEC")
	return got, *w
}

// setsAndGets returns n lines that write, with n that read the same keys in between or behind all of them.
func setsAndGets(n int, between bool) (lines []string) {
	var reads []string
	for i := range n {
		if lines = append(lines, fmt.Sprint("SET key", i, " v")); between {
			lines = append(lines, fmt.Sprint("GET key", i))
		} else {
			reads = append(reads, fmt.Sprint("GET key", i))
		}
	}
	return append(lines, reads...)
}

// TestGroupsTakeAsLongAsTheyAre asks that a transaction of twice as many commands is twice the work.
func TestGroupsTakeAsLongAsTheyAre(t *testing.T) {
	b, d := newShared(t, 1<<30)
	work := countGroups(b, d, func() {})
	const n = 200
	for _, between := range []bool{true, false} {
		_, once := work.ofExec(b.client, setsAndGets(n, between)...)
		got, twice := work.ofExec(b.client, setsAndGets(2*n, between)...)
		if !strings.HasPrefix(got, "[+OK ") || !strings.HasSuffix(got, `"v"]`) || once.keys < n || once.readings < n {
			t.Fatalf("%+v for EXEC = %.100s", once, got)
		}
		if twice.keys > 2*once.keys || twice.readings > 2*once.readings {
			t.Errorf("reads in between %t: %+v for %d commands and %+v for twice as many", between, once, 2*n, twice)
		}
	}
}

// TestLongGroupsAreRefusedEarly asks that no command of a transaction is prepared behind those that fill a message, or behind
// one that cannot be part of it.
func TestLongGroupsAreRefusedEarly(t *testing.T) {
	b, d := newShared(t, 1<<30)
	work := countGroups(b, d, func() {})
	d.most = 2000
	for _, first := range []string{"SET first v", "CMS.MERGE m 1 m"} {
		_, short := work.ofExec(b.client, append([]string{first}, setsAndGets(200, true)...)...)
		got, long := work.ofExec(b.client, append([]string{first}, setsAndGets(2000, true)...)...)
		if !strings.HasPrefix(got, "-EXECABORT ") || long.readings != short.readings {
			t.Errorf("%+v for 401 commands behind %s, and %+v for 4001: %s", short, first, long, got)
		}
	}
}

// TestKilledGroupsAreNotSent kills a client while its transaction is prepared: the rest is not, and nothing is done.
func TestKilledGroupsAreNotSent(t *testing.T) {
	b, d := newShared(t, 1<<30)
	var work *groupWork
	begun := false
	const early = 20
	work = countGroups(b, d, func() {
		if begun && work.readings == early {
			b.session.End()
		}
	})
	b.line("MULTI")
	b.lines(setsAndGets(200, false)...)
	*work, begun = groupWork{}, true
	sent := len(d.testDoor.groups)
	if got := b.line("EXEC"); got != "-"+answer.TextStopped || len(d.testDoor.groups) != sent || work.readings > early+5 {
		t.Errorf("EXEC = %.100s after %+v, %d groups were sent", got, *work, len(d.testDoor.groups)-sent)
	}
	other := b.connect()
	if got := other.line("DBSIZE"); got != ":0" {
		t.Errorf("DBSIZE = %s", got)
	}
	b.engine.Release(b.session)
	b.engine.Release(other.session)
	if got := b.engine.Budget.Used() - b.state.Bytes(); got != 0 {
		t.Errorf("%d bytes stay set aside or held", got)
	}
}

// TestGroupsAreCountedOnce changes the bound in the middle of a transaction: what it takes was found out when its first
// record was applied, and is not again for each record.
func TestGroupsAreCountedOnce(t *testing.T) {
	b, _ := newShared(t, 1<<30)
	if got := b.transaction("SET a 1", "CONFIG SET max-transaction 1", "SET b 2", "GET b"); got != `[+OK +OK +OK "2"]` {
		t.Errorf("EXEC = %s", got)
	}
}
