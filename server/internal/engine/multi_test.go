package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/command"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/session"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// withHold is a bench with one more command, HOLD, that runs until the channel is
// closed; held is told when it runs.
func withHold(t *testing.T) (b *bench, held, end chan struct{}) {
	b, held, end = newBench(t, 1<<30), make(chan struct{}), make(chan struct{})
	hold := engine.Command{Name: "hold", Arity: 1, Flags: traits.ReadOnly, Run: func(_ *engine.Context, c *engine.Call) {
		close(held)
		<-end
		c.Answer(answer.OK())
	}}
	b.engine = engine.New(engine.Config{
		Commands: append(command.All(), hold), State: b.state, Door: b.door, Keeper: b.door.Door, Host: b, MaxMemory: 1 << 30,
		Settings: session.NewSettings(session.RedisBloomDefaults(), ""),
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
	case <-time.After(time.Minute):
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
		{"SET s v", 1000}, {"PING", 3000}, {"BF.MADD f a b c d", 500},
	} {
		b.line("MULTI")
		for i := range tt.fit {
			if got := b.line(tt.line); got != "+QUEUED" {
				t.Fatalf("%s, the %dth = %s", tt.line, i+1, got)
			}
		}
		if got := b.line(tt.line); !strings.Contains(got, "max-transaction") {
			t.Errorf("one %s too many = %s", tt.line, got)
		}
		if got := b.session.Memory(); got != 0 {
			t.Errorf("%d bytes are held for a transaction that was refused", got)
		}
		if got := b.line("EXEC"); !strings.HasPrefix(got, "-EXECABORT") {
			t.Errorf("EXEC = %.60s", got)
		}
	}
	for _, line := range []string{"INFO", "FILTER.KINDS"} { // 1 MiB each
		if got := b.lines("MULTI", line, line, "EXEC")[3]; !strings.HasPrefix(got, "[") {
			t.Errorf("EXEC of two %s = %.60s", line, got)
		}
		if got := b.lines("MULTI", line, line, line, "EXEC")[4]; !strings.Contains(got, "max-transaction allows 3000 KiB") {
			t.Errorf("EXEC of three %s = %.200s", line, got)
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
	appends := func(n int) string {
		b.line("MULTI")
		for range n {
			b.line("APPEND s 1")
		}
		return b.line("EXEC")
	}
	for _, size := range []int{25 << 20, 50 << 10} {
		b.do("SET", "s", strings.Repeat("v", size))
		most := session.DefaultMaxTransaction * 1024 / 2 / size
		if got := appends(most + 1); !strings.HasPrefix(got, "-EXECABORT") {
			t.Errorf("%d times APPEND to %d bytes = %.80s", most+1, size, got)
		}
		if got, want := b.line("STRLEN s"), fmt.Sprint(":", size); got != want {
			t.Errorf("a transaction that was refused has done something: STRLEN = %s, want %s", got, want)
		}
		if got := appends(most * 9 / 10); !strings.HasPrefix(got, fmt.Sprint("[:", size+1, " ")) {
			t.Errorf("%d times APPEND to %d bytes = %.80s", most*9/10, size, got)
		}
	}
}

// TestWatchedPartsCount watches a filter of many parts: EXEC looks at each of them while all others wait.
func TestWatchedPartsCount(t *testing.T) {
	b := newBench(t, 1<<30)
	b.lines("FILTER.CREATE parts bloom CAPACITY 4096 PARTS 4096", "CONFIG SET max-transaction 400")
	for _, tt := range []struct{ watched, want string }{
		{"WATCH parts", "-EXECABORT"}, {"WATCH none", "[+PONG]"}, {"UNWATCH", "[+PONG]"},
	} {
		b.lines(tt.watched, "MULTI", "PING")
		if got := b.line("EXEC"); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s, and then EXEC = %.200s, want %s", tt.watched, got, tt.want)
		}
	}
}
