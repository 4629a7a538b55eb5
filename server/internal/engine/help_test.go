package engine

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/traits"
)

func FuzzQuestion(f *testing.F) {
	f.Add(appendCall(appendCall(nil, [][]byte{[]byte("BF.ADD"), []byte("k"), nil}), [][]byte{[]byte("EXEC")}))
	f.Add([]byte{1, 200})
	hashed := [][]byte{[]byte("FILTER.HAS"), []byte("f")}
	f.Add(append(appendHashed(nil, 7, hashed, 2), "hash one"+"hash two"...))
	f.Add(append(appendHashed(nil, 7, [][]byte{[]byte(hashesMark), nil}, 1), "hash one"...))
	f.Add(append(appendHashed(nil, 0, hashed, 1), "hash one"...))
	f.Add(appendCall(nil, [][]byte{[]byte(hashesMark), make([]byte, hashBytes), nil, nil, []byte("short")}))
	f.Fuzz(func(t *testing.T, b []byte) {
		h := helper{session: &Session{}}
		n, ok := h.parse(b)
		if !ok {
			return
		}
		if n != len(h.work.Calls) {
			t.Fatalf("%d calls, and %d are there", n, len(h.work.Calls))
		}
		var again []byte
		for i := range h.work.Calls {
			c := &h.work.Calls[i]
			if again = appendCall(again, c.Args); c.Hashed() && slices.ContainsFunc(c.Args[2:], func(item []byte) bool { return len(item) != hashBytes }) {
				t.Errorf("hashes of other lengths: %q", c.Args)
			}
		}
		same := helper{session: &Session{}}
		if m, ok := same.parse(again); !ok || m != n {
			t.Errorf("%d calls came back as %d, %v", n, m, ok)
		}
	})
}

func FuzzAnswers(f *testing.F) {
	ok := answer.OK()
	f.Add(ok.Append([]byte{wasRun}))
	f.Add(append(binary.AppendUvarint([]byte{wasTooLong}, 1<<40), wasNotHere))
	f.Fuzz(func(t *testing.T, b []byte) {
		calls := make([]Call, 2)
		q := question{}
		for i := range calls {
			calls[i].cmd = &Command{}
			q.calls, q.of = append(q.calls, &calls[i]), append(q.of, &passing{})
		}
		if err := q.read(door.Answer{Body: b, Place: 1}); err != nil {
			return
		}
		for i := range calls {
			if c := &calls[i]; !c.answered && c.looks == 0 && c.Reply.Kind != answer.Int {
				t.Errorf("call %d has neither an answer nor a reason", i)
			}
		}
	})
}

func FuzzPartsQuestion(f *testing.F) {
	seal := store.Record{ID: 7, Index: 1, Body: &store.RebuildSeal{Attempt: 1}}
	f.Add(appendCall(nil, [][]byte{[]byte(partsApply), store.AppendRecord([]byte{recordGrows}, &seal)}))
	piece := store.Record{ID: 1, Body: &store.FilterPiece{Of: 3, Data: []byte("abc")}}
	f.Add(appendCall(nil, [][]byte{[]byte(partsApply), store.AppendRecord([]byte{0}, &piece)}))
	f.Add(appendCall(nil, [][]byte{[]byte(partsLook), {7}, {1}, {200, 200, 1}}))
	f.Add(appendCall(nil, [][]byte{[]byte(partsBuilt), {7}, {1}}))
	e := &Engine{state: store.New()}
	f.Fuzz(func(_ *testing.T, b []byte) {
		h := helper{session: &Session{}}
		if n, ok := h.parse(b); ok && n > 0 {
			e.helpParts(h.session, h.work.Calls[0].Args)
		}
	})
}

func FuzzPartsAnswer(f *testing.F) {
	f.Add(appendError(appendError([]byte{wasNotHere, wasRun}, nil), store.ErrSealed))
	f.Add((&contents.Progress{Items: 1 << 60, Asked: 0.01}).Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		ops := []*door.Op{{}, {}}
		if (&faraway{}).outcomes(b, ops) == nil && len(b) == 2 && (ops[0].Settled || ops[1].Settled) {
			t.Errorf("%x settles a record", b)
		}
		if v, rest, ok := contents.ReadProgress(b); ok {
			again, _, ok := contents.ReadProgress(v.Append(nil))
			if again.Items != v.Items || !ok || len(rest) > len(b) {
				t.Errorf("%+v came back as %+v, %v", v, again, ok)
			}
		}
	})
}

// TestFarErrors asks that the errors which rebuilds tell apart are the same at the machine that has asked.
func TestFarErrors(t *testing.T) {
	for _, err := range append([]error{errors.New("another")}, farErrors...) {
		rest, ok, got := readError(appendError(nil, err))
		if !ok || len(rest) > 0 || (got == nil) != (err == nil) {
			t.Fatalf("%v came back as %v", err, got)
		}
		for _, is := range farErrors[1:] {
			if errors.Is(err, is) != errors.Is(got, is) {
				t.Errorf("%v came back as %v: is it %v?", err, got, is)
			}
		}
	}
}

// FuzzMarks asks what another machine asks that is no command, of a server without data.
func FuzzMarks(f *testing.F) {
	for _, args := range [][][]byte{
		{[]byte(roomMark), []byte("100")}, {[]byte(roomMark), nil, []byte("1")}, {[]byte(roomMark), nil, make([]byte, 2*hashBytes)},
		{[]byte(lendMark), []byte("1"), []byte("0")}, {[]byte(lendMark), []byte("1"), []byte("-1")}, {[]byte(lendMark), []byte("9"), []byte("0"), nil},
	} {
		f.Add(appendCall(nil, args))
	}
	e := New(Config{State: store.New(), MaxMemory: 1 << 20})
	f.Fuzz(func(t *testing.T, b []byte) {
		h := helper{session: &Session{}}
		if _, ok := h.parse(b); !ok {
			return
		}
		r, is := e.helpMark(h.args)
		if is && r.Kind == answer.None {
			t.Errorf("no answer to %q", h.args)
		}
		if is && len(r.Elems) == 2 && string(h.args[0]) == roomMark {
			e.grants.end(e, r.Elems[0].N)
		}
		if n := e.Budget.Used(); n > 1<<20 {
			t.Errorf("%d bytes are set aside", n)
		}
	})
}

// bundled is a command on items that nobody runs.
type bundled struct{ Bundled }

func (bundled) Bundling() Bundling { return Bundling{} }

// TestLooksUp asks which calls of other machines are answered while all others of them wait: none that changes
// something, or takes long.
func TestLooksUp(t *testing.T) {
	read := func(name string, flags traits.Flags, group string, on Bundled) Command {
		return Command{Name: name, Arity: 2, Flags: flags, Keys: traits.OneKey(traits.KeyRO), Group: group, On: on, Run: func(*Context, *Call) {}}
	}
	e := &Engine{table: NewTable([]Command{
		read("look", traits.ReadOnly, traits.GroupBloom, bundled{}), read("scan", traits.ReadOnly|traits.Heavy, traits.GroupBloom, bundled{}),
		read("compare", traits.ReadOnly, traits.GroupTopK, bundled{}), read("add", traits.Write, traits.GroupBloom, bundled{}),
		read("list", traits.ReadOnly, traits.GroupFilter, nil),
	})}
	for _, name := range []string{"look", "scan", "compare", "add", "list", "another"} {
		if got := e.table.Lookup([]byte(name)).looksUp(); got != (name == "look") {
			t.Errorf("%s: %v", name, got)
		}
	}
}
