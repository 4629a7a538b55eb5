package engine

import (
	"encoding/binary"
	"testing"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/door"
)

func FuzzQuestion(f *testing.F) {
	f.Add(appendCall(appendCall(nil, [][]byte{[]byte("BF.ADD"), []byte("k"), nil}), [][]byte{[]byte("EXEC")}))
	f.Add([]byte{1, 200})
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
			again = appendCall(again, h.work.Calls[i].Args)
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
