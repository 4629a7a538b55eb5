package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/command"
	"github.com/bloomery/bloomery/server/internal/door/local"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/store"
)

// withHold is a bench with one more command, HOLD, that runs until the channel is
// closed; held is told when it runs.
func withHold(t *testing.T) (b *bench, held, end chan struct{}) {
	b, held, end = newBench(t, 1<<30), make(chan struct{}), make(chan struct{})
	hold := engine.Command{Name: "hold", Arity: 1, Flags: engine.ReadOnly, Run: func(_ *engine.Context, c *engine.Call) {
		close(held)
		<-end
		c.Answer(engine.OK())
	}}
	b.engine = engine.New(engine.Config{
		Commands: append(command.All(), hold), State: b.state, Door: b.door, Keeper: b.door.Door, Host: b, MaxMemory: 1 << 30,
		Settings: engine.NewSettings(engine.RedisBloomDefaults(), ""),
	})
	return b, held, end
}

// TestConnectionCommandsPassTheGate has a transaction run for ever, and asks that
// what has nothing to do with data is answered meanwhile.
func TestConnectionCommandsPassTheGate(t *testing.T) {
	b, held, end := withHold(t)
	executed := make(chan string)
	go func() { executed <- fmt.Sprint(b.lines("MULTI", "HOLD", "EXEC")) }()
	<-held
	other, answers := b.connect(), make(chan []string)
	go func() {
		answers <- other.lines("PING", "ECHO x", "HELLO 3", "CLIENT ID", "CLIENT LIST", "CLIENT SETNAME x", "CONFIG GET timeout", "INFO", "TIME",
			"COMMAND COUNT", "SLOWLOG LEN", "MULTI", "GET a", "DISCARD", "SELECT 0", "AUTH default x", "RESET", "PING")
	}()
	select {
	case got := <-answers:
		if got[0] != "+PONG" || got[len(got)-1] != "+PONG" {
			t.Errorf("answers while a transaction runs: %v", got)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("PING and its like wait for a transaction of another client")
	}
	read := make(chan string)
	go func() { read <- other.line("GET a") }()
	select {
	case got := <-read:
		t.Errorf("GET = %s while a transaction runs", got)
	case <-time.After(50 * time.Millisecond):
	}
	close(end)
	if got := <-executed; got != "[+OK +QUEUED [+OK]]" {
		t.Errorf("the transaction = %s", got)
	}
	<-read
}

// TestTransactionsAreBounded asks that a transaction, counted in words, and the
// keys that are watched, have a limit, and that nothing is kept of what passes it.
func TestTransactionsAreBounded(t *testing.T) {
	b := newBench(t, 1<<30)
	if got := b.line("CONFIG SET max-transaction 3000"); got != "+OK" {
		t.Fatal(got)
	}
	if got := b.line("CONFIG SET max-transaction 0"); !strings.HasPrefix(got, "-ERR") {
		t.Errorf("max-transaction 0 = %s", got)
	}
	for _, tt := range []struct {
		line string
		fit  int // so many of them
	}{
		{"SET s v", 1000}, {"PING", 3000}, {"BF.MADD f a b c d", 500}, {"KEYS *", 2}, {"DUMP f", 2}, {"INFO", 2}, {"COMMAND DOCS", 2}, {"SCAN 0", 2},
	} {
		b.line("MULTI")
		for i := range tt.fit {
			if got := b.line(tt.line); got != "+QUEUED" {
				t.Fatalf("%s, the %dth = %s", tt.line, i+1, got)
			}
		}
		if tt.line != "KEYS *" {
			if got := b.line(tt.line); !strings.Contains(got, "max-transaction") {
				t.Errorf("one %s too many = %s", tt.line, got)
			}
			if got := b.session.Memory(); got != 0 {
				t.Errorf("%d bytes are held for a transaction that was refused", got)
			}
			if got := b.line("EXEC"); !strings.HasPrefix(got, "-EXECABORT") {
				t.Errorf("EXEC = %.60s", got)
			}
			continue
		}
		if got := b.line("EXEC"); !strings.HasPrefix(got, "[[") {
			t.Errorf("EXEC of what fits = %.60s", got)
		}
	}
	keys := []string{"WATCH"}
	for i := range 3000 {
		keys = append(keys, fmt.Sprint("k", i))
	}
	if got := b.do(keys...); got != "+OK" {
		t.Errorf("WATCH of 3000 keys = %s", got)
	}
	if got := b.line("WATCH k5"); got != "+OK" {
		t.Errorf("WATCH of one of them again = %s", got)
	}
	if got := b.line("WATCH more"); !strings.Contains(got, "max-transaction") {
		t.Errorf("WATCH of one more = %s", got)
	}
	if got := b.lines("MULTI", "PING", "EXEC")[2]; got != "[+PONG]" {
		t.Errorf("EXEC = %s", got)
	}
}

// TestTransactionCopiesLittle asks that a transaction cannot copy a string again and
// again while all others wait, be it long or not.
func TestTransactionCopiesLittle(t *testing.T) {
	b := newBench(t, 8<<30)
	b.state = store.New()
	memory, err := local.Open(local.Config{State: b.state}) // nothing is kept on disk
	if err != nil {
		t.Fatal(err)
	}
	b.engine = engine.New(engine.Config{
		Commands: command.All(), State: b.state, Door: memory, Keeper: memory, Host: b, MaxMemory: 8 << 30,
		Settings: engine.NewSettings(engine.RedisBloomDefaults(), ""),
	})
	b.do("SET", "s", strings.Repeat("v", 25<<20))
	b.line("MULTI")
	for range 6 {
		b.line("APPEND s 1")
	}
	b.line("SETRANGE s 0 1")
	b.line("SET s 1")
	b.line("APPEND s 1")
	got := strings.Split(strings.Trim(b.line("EXEC"), "[]"), "-ERR this transaction has copied too much")
	if len(got) != 5 || !strings.HasPrefix(got[0], ":26214401 :26214402 :26214403 ") || !strings.HasSuffix(got[4], "+OK :2") {
		t.Errorf("EXEC = %q", got)
	}
	b.do("SET", "s", strings.Repeat("v", 300<<20))
	if got := b.lines("MULTI", "APPEND s 1", "EXEC")[2]; got != "[:314572801]" {
		t.Errorf("APPEND to a string longer than the limit, once = %s", got)
	}
	const n, size = 3000, 50 << 10 // 150 MB
	b.do("SET", "s", strings.Repeat("v", size))
	b.line("MULTI")
	for range n {
		b.line("APPEND s 1")
	}
	refused := strings.Count(b.line("EXEC"), "copied too much")
	if most := 64<<20/size + 1; refused < n-most || refused == n {
		t.Errorf("of %d APPENDs to a string of %d bytes %d were refused, want all but %d", n, size, refused, most)
	}
}
