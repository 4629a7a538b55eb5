package connection_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/bloomery/bloomery/server/internal/command/commandtest"
)

// TestPauses holds a command back until the pause ends, or is ended.
func TestPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := commandtest.New(t, 1<<30)
		run := func(line string) int {
			b.Work.Reset()
			b.Work.Add(commandtest.Fields(line))
			return b.Engine.Exec(b.Session, &b.Work, 0)
		}
		b.Script(t, "CLIENT PAUSE 60000 WRITE -> +OK")
		time.Sleep(time.Minute - time.Millisecond)
		if run("SET a v") != 0 || run("GET a") != 1 {
			t.Error("CLIENT PAUSE WRITE does not hold a write back, or holds a read back")
		}
		time.Sleep(2 * time.Millisecond)
		if run("SET a v") != 1 {
			t.Error("a write is held back when the pause has ended")
		}
		b.Script(t, "CLIENT PAUSE 60000 -> +OK")
		if run("GET a") != 0 {
			t.Error("CLIENT PAUSE does not hold a read back")
		}
		b.Script(t, "CLIENT UNPAUSE -> +OK")
		if run("SET a v") != 1 {
			t.Error("a write is held back after CLIENT UNPAUSE")
		}
		b.Close(t)
	})
}
