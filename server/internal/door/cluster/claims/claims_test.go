package claims

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/door/cluster/messages"
	"github.com/bloomery/bloomery/server/internal/folder"
)

// TestClaims asks that claims are what they were when they arrive, that none of them has
// anybody fail, and what is made of a damaged file of sessions.
func TestClaims(t *testing.T) {
	want := Claim{Cluster: 1 << 60, Number: 7, Nonces: []int64{-1, 1 << 62}, Kept: []uint64{0, 5, 1 << 50}}
	b := want.Append(nil)
	if got, err := Parse(b); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("Parse = %+v, %v", got, err)
	}
	for n := range b {
		if _, err := Parse(b[:n]); !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("a claim cut to %d bytes: %v", n, err)
		}
	}
	for _, answer := range [][]byte{nil, {given}, {1, Taken, 0}, {given, Taken, 0x80}} {
		if _, _, known := ParseVerdict(answer); known {
			t.Errorf("%v is taken for a verdict", answer)
		}
	}
	if verdict, age, known := ParseVerdict(Answer(Older, 300)); verdict != Older || age != 300*time.Millisecond || !known {
		t.Errorf("ParseVerdict = %d, %v, %v", verdict, age, known)
	}
	files := &folder.Memory{}
	files.Put(SessionsName, messages.AppendSum([]byte("12345678")))
	if got, err := ReadSessions(files); err != nil || len(got) != 1 {
		t.Errorf("ReadSessions = %v, %v", got, err)
	}
	for _, b := range [][]byte{{}, []byte("12345678abcd"), messages.AppendSum([]byte("1234567"))} {
		files.Put(SessionsName, b)
		if _, err := ReadSessions(files); !errors.Is(err, bloomery.ErrCorrupt) {
			t.Errorf("sessions of %q: %v", b, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := want.Settle(ctx, func(context.Context, []byte) [][]byte { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("a claim of a process that is to end: %v", err)
	}
}
