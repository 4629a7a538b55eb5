package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/command"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// TestSecretsAreNotLogged has the slow log note everything and asks that it holds
// no password, whatever way it came.
func TestSecretsAreNotLogged(t *testing.T) {
	b := newBench(t, 1<<30)
	b.step = time.Millisecond
	b.line("CONFIG SET slowlog-log-slower-than 0")
	for _, line := range []string{
		"AUTH s3cret", "AUTH default s3cret", "HELLO 3 AUTH default s3cret SETNAME x", "CONFIG SET requirepass s3cret",
		"AUTH s3cret", "HELLO 2 SETNAME x AUTH default s3cret", "AHTU s3cret", "CONFIG SET timeout 0 requirepass s3cret", "BF.ADD k item",
		"EVAL s3cret 0", "PUBLISH c s3cret", "ACL SETUSER x on >s3cret", "ACL SETUSER x <s3cret >s3cret !s3cret", "ACL DRYRUN x AUTH s3cret",
	} {
		b.line(line)
	}
	got := b.line("SLOWLOG GET -1")
	if strings.Contains(got, "s3cret") {
		t.Errorf("SLOWLOG holds the password: %s", got)
	}
	for _, want := range []string{`"AUTH" "(redacted)"`, `"HELLO" "3" "AUTH" "(redacted)"`, `"BF.ADD" "(key)" "item"`, `"requirepass" "(redacted)"`} {
		if !strings.Contains(got, want) {
			t.Errorf("SLOWLOG has no %s: %s", want, got)
		}
	}
	// Every command that takes a secret says where.
	engine.NewTable(command.All()).Walk(func(c *engine.Command) {
		if strings.Contains(c.Syntax, "password") && c.Secret == nil {
			t.Errorf("%s takes a password and does not say where", c.FullName())
		}
	})
}

// TestKeysAreNotLogged asks of every command that what is shown of it has "(key)"
// exactly where the table says that keys are, and that SLOWLOG holds no name.
func TestKeysAreNotLogged(t *testing.T) {
	commands := 0
	engine.NewTable(command.All()).Walk(func(c *engine.Command) {
		if len(c.Keys) == 0 || c.Secret != nil {
			return
		}
		commands++
		for n := 2; n < 8; n++ {
			if !c.Takes(n) {
				continue
			}
			args, keys := make([][]byte, n), make([]bool, n)
			for i := range args {
				args[i] = fmt.Appendf(nil, "arg%d", i)
			}
			c.Keys.Each(args, func(i int, _ traits.Key) { keys[i] = true })
			for i := range args {
				want := string(args[i])
				if keys[i] {
					want = "(key)"
				}
				if got := c.Show(args, i, 100); got != want {
					t.Errorf("%s of %d arguments shows argument %d as %s, want %s", c.FullName(), n, i, got, want)
				}
			}
		}
	})
	if commands < 40 {
		t.Errorf("%d commands have keys", commands)
	}
	b := newBench(t, 1<<30)
	b.step = time.Millisecond
	b.line("CONFIG SET slowlog-log-slower-than 0")
	b.lines("SET alice 1", "MSET alice 1 alice2 2", "COPY alice alice3", "RENAME alice3 alice4", "DEL alice alice4", "BF.MADD alice x y",
		"MEMORY USAGE alice", "OBJECT ENCODING alice", "MULTI", "CF.ADD alice9 x", "EXEC", "WATCH alice", "BF.INFO alice", "nosuch alice")
	got := b.line("SLOWLOG GET -1")
	if strings.Contains(got, "alice") {
		t.Errorf("SLOWLOG holds the name of a key: %s", got)
	}
	for _, want := range []string{`"COPY" "(key)" "(key)"`, `"MSET" "(key)" "1" "(key)" "2"`, `"BF.MADD" "(key)" "x" "y"`} {
		if !strings.Contains(got, want) {
			t.Errorf("SLOWLOG has no %s: %s", want, got)
		}
	}
}

// TestCompactIsAWrite asks that CF.COMPACT is refused when writes are, although
// clients are told that it only reads.
func TestCompactIsAWrite(t *testing.T) {
	b := newBench(t, 1<<30)
	b.line("CF.ADD c x")
	b.door.refuses = fmt.Errorf("%w: test", door.ErrRefused)
	if got := b.line("CF.COMPACT c"); !strings.HasPrefix(got, "-MISCONF") {
		t.Errorf("CF.COMPACT while writes are refused = %s", got)
	}
	if got := b.line("CF.EXISTS c x"); got != ":1" {
		t.Errorf("CF.EXISTS while writes are refused = %s", got)
	}
	if got := b.line("COMMAND INFO cf.compact"); !strings.Contains(got, "+readonly") || strings.Contains(got, "+write ") {
		t.Errorf("COMMAND INFO = %s", got)
	}
}

// TestExpiryIsNotForgotten asks that what could not be removed at its deadline is
// removed later.
func TestExpiryIsNotForgotten(t *testing.T) {
	b := newBench(t, 1<<30)
	b.line("SET s v PX 100")
	b.line("BF.ADD b x")
	b.line("PEXPIRE b 100")
	b.now = b.now.Add(time.Second)
	b.door.lose = fmt.Errorf("%w: test", door.ErrRefused)
	if got := b.engine.Sweep(10); got != 0 {
		t.Errorf("Sweep over a door that keeps nothing = %d", got)
	}
	b.door.lose = nil
	if got := b.engine.Sweep(10); got != 2 {
		t.Errorf("Sweep after that = %d, want 2", got)
	}
	if got := b.line("DBSIZE"); got != ":0" {
		t.Errorf("DBSIZE = %s", got)
	}
}

// TestRestoreLeavesNothingBehind asks that a RESTORE that fails, at whatever
// point, leaves no filter without a name: not in memory, and not after a crash.
func TestRestoreLeavesNothingBehind(t *testing.T) {
	b := newBench(t, 1<<30)
	b.line("BF.RESERVE big 0.01 2000000")
	b.line("BF.ADD big x")
	b.line("SET taken v")
	dump := b.exec([][]byte{[]byte("DUMP"), []byte("big")})[0].Text
	header := b.exec([][]byte{[]byte("BF.SCANDUMP"), []byte("big"), []byte("0")})[0].Elems[1].Text
	b.line("DEL big")
	before := b.state.Bytes()
	if got := b.do("RESTORE", "taken", "0", dump); !strings.HasPrefix(got, "-BUSYKEY") {
		t.Errorf("RESTORE over a key = %.60s", got)
	}
	// The key comes into being while the filter is being filled.
	b.line("MULTI")
	b.line("SET late v")
	b.do("RESTORE", "late", "0", dump)
	if got := b.line("EXEC"); !strings.HasPrefix(got, "[+OK -BUSYKEY") {
		t.Errorf("EXEC = %.60s", got)
	}
	b.line("DEL late")
	// A watched key has changed: the transaction is not run.
	b.line("WATCH w")
	b.connect().line("SET w 1")
	b.line("MULTI")
	b.do("RESTORE", "never", "0", dump)
	if got := b.line("EXEC"); got != "nil" {
		t.Errorf("EXEC = %.60s", got)
	}
	b.line("DEL w")
	b.engine.Release(b.session)
	if got := b.state.Bytes(); got != before {
		t.Errorf("%d bytes in use, want %d", got, before)
	}
	if got := b.engine.Budget.Used(); got != before {
		t.Errorf("%d bytes counted, want %d", got, before)
	}
	// A crash in the middle: the filter has no name, and is dropped.
	stage := &door.Op{Record: store.Record{Body: &store.Stage{As: store.OpBloomDump, Header: []byte(header)}}}
	b.door.Do([]*door.Op{stage})
	if stage.Result.Err != nil {
		t.Fatal(stage.Result.Err)
	}
	if b.state.Bytes() == before || b.line("DBSIZE") != ":1" {
		t.Errorf("a staged filter: %d bytes, DBSIZE %s", b.state.Bytes(), b.line("DBSIZE"))
	}
	if got := b.line("FLUSHALL"); got != "+OK" {
		t.Error(got)
	}
	b.state.Names.Lock()
	b.state.DropStaged()
	b.state.Names.Unlock()
	b.replays(t)
}

// TestDumpOfADeletedFilter deletes filters while they are dumped: the dump is
// whole, and so is what it makes again.
func TestDumpOfADeletedFilter(t *testing.T) {
	b := newBench(t, 1<<30)
	for i := range 20 {
		b.line("BF.RESERVE big 0.01 3000000")
		b.line("BF.ADD big x")
		done := make(chan string)
		c, other := b.connect(), b.connect()
		go func() { done <- c.exec([][]byte{[]byte("DUMP"), []byte("big")})[0].Text }()
		if i%2 == 0 {
			time.Sleep(time.Duration(i) * 100 * time.Microsecond)
		}
		other.line("DEL big")
		if dump := <-done; dump != "" {
			if got := b.do("RESTORE", "again", "0", dump, "REPLACE"); got != "+OK" {
				t.Fatalf("RESTORE = %.60s", got)
			}
			if got := b.line("BF.EXISTS again x"); got != ":1" {
				t.Fatalf("BF.EXISTS = %s", got)
			}
		}
	}
}

// TestNothingExpiresMeanwhile asks that keys past their deadline stay while clients are
// paused or the door takes no writes: nothing is even tried.
func TestNothingExpiresMeanwhile(t *testing.T) {
	b := newBench(t, 1<<30)
	b.lines("SET k v PX 1", "SET l v")
	b.now = b.now.Add(time.Second)
	tries := func() int {
		b.door.groups = nil
		b.engine.Sweep(10)
		return len(b.door.groups)
	}
	b.line("CLIENT PAUSE 1000 WRITE")
	if n := tries(); n != 0 {
		t.Errorf("in a pause %d records are written", n)
	}
	b.line("CLIENT UNPAUSE")
	b.door.refuses = errors.New("no disk")
	if n := tries(); n != 0 {
		t.Errorf("without a disk %d records are written", n)
	}
	b.door.refuses = nil
	if n := tries(); n != 1 || b.state.Names.Len() != 1 {
		t.Errorf("then %d records are written, and %d names are left, want 1 and 1", n, b.state.Names.Len())
	}
}
