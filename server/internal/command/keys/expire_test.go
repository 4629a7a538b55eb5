package keys_test

import (
	"testing"
	"time"

	"github.com/bloomery/bloomery/server/internal/command/commandtest"
)

func TestKeysExpire(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.Line("BF.ADD b x")
	b.Line("SET s v")
	b.Line("PEXPIRE b 100")
	b.Line("PEXPIRE s 100")
	b.Now = b.Now.Add(99 * time.Millisecond)
	if got := b.Line("BF.EXISTS b x"); got != ":1" {
		t.Errorf("before the deadline BF.EXISTS = %s, want :1", got)
	}
	b.Now = b.Now.Add(time.Millisecond)
	if got := b.Line("BF.EXISTS b x"); got != ":0" {
		t.Errorf("at the deadline BF.EXISTS = %s, want :0", got)
	}
	if got := b.Line("DBSIZE"); got != ":2" {
		t.Errorf("before the sweep DBSIZE = %s, want :2", got)
	}
	if got := b.Line("BF.ADD b y"); got != ":1" {
		t.Errorf("BF.ADD after the deadline = %s, want :1", got)
	}
	if got := b.Line("BF.EXISTS b x"); got != ":0" {
		t.Errorf("the new filter has what the old one had: %s", got)
	}
	b.Engine.Sweep(100)
	if got := b.Line("DBSIZE"); got != ":1" {
		t.Errorf("after the sweep DBSIZE = %s, want :1", got)
	}
	if got := b.Line("TTL b"); got != ":-1" {
		t.Errorf("TTL of the new filter = %s, want :-1", got)
	}
}

// TestExpireTimeIsRounded asks for the second of deadlines around half of one.
func TestExpireTimeIsRounded(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.Script(t, `
		SET k v -> +OK
		PEXPIREAT k 4102444800499 -> :1
		EXPIRETIME k -> :4102444800
		PEXPIREAT k 4102444800500 -> :1
		EXPIRETIME k -> :4102444801`)
}
