package tdigest_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/bloomery/bloomery/server/internal/command/commandtest"
	"github.com/bloomery/bloomery/server/internal/door/local"
	"github.com/bloomery/bloomery/server/internal/engine"
)

// TestQuestionsThatCompress asks a t-digest that is not compressed: only a question
// whose answer lies within the values compresses it.
func TestQuestionsThatCompress(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	for _, c := range []struct {
		question, answer string
		compresses       bool
	}{
		{"TDIGEST.RANK d 0 5", "[:-1 :4]", false},
		{"TDIGEST.RANK d 1", "[:0]", true},
		{"TDIGEST.RANK d 4", "[:3]", true},
		{"TDIGEST.RANK d 0 2", "[:-1 :1]", true},
		{"TDIGEST.REVRANK d 0 5", "[:4 :-1]", false},
		{"TDIGEST.REVRANK d 4", "[:0]", true},
		{"TDIGEST.BYRANK d 0 4", "[1 +Inf]", false},
		{"TDIGEST.BYRANK d 3", "[4]", true},
		{"TDIGEST.BYREVRANK d 0 4", "[4 -Inf]", false},
		{"TDIGEST.BYREVRANK d 1", "[3]", true},
		{"TDIGEST.CDF d 0", "[0]", true},
		{"TDIGEST.QUANTILE d 1", "[4]", true},
		{"TDIGEST.TRIMMED_MEAN d 0 1", "2.5", true},
	} {
		b.Line("DEL d")
		b.Line("TDIGEST.CREATE d")
		b.Line("TDIGEST.ADD d 1 2 3 4")
		before := b.Door.Status().LogEnd
		if got := b.Line(c.question); got != c.answer {
			t.Errorf("%s = %s, want %s", c.question, got, c.answer)
		}
		if got := strings.Contains(b.Line("TDIGEST.INFO d"), "+Total compressions :1 "); got != c.compresses {
			t.Errorf("%s compresses: %v, want %v", c.question, got, c.compresses)
		}
		if got := b.Door.Status().LogEnd != before; got != c.compresses { // replicas and replays do the same
			t.Errorf("%s has a record: %v, want %v", c.question, got, c.compresses)
		}
	}
}

// refusing is a door that takes no writes.
type refusing struct{ *local.Door }

func (refusing) Refuses() error { return errors.New("the disk is full") }

// TestQuestionsWithoutWrites asks a t-digest that is not compressed while nothing can be
// written: the answer is the same, and the digest stays as it is.
func TestQuestionsWithoutWrites(t *testing.T) {
	b := commandtest.New(t, 1<<30)
	b.Line("TDIGEST.CREATE d")
	b.Line("TDIGEST.ADD d 1 2 3 4")
	e := b.Engine
	b.Rewire(func(c *engine.Config) { c.Door = refusing{b.Door} })
	if got := b.Line("TDIGEST.RANK d 2 3"); got != "[:1 :2]" {
		t.Errorf("TDIGEST.RANK = %s", got)
	}
	if got := b.Line("TDIGEST.ADD d 5"); !strings.HasPrefix(got, "-") {
		t.Errorf("TDIGEST.ADD = %s", got)
	}
	b.Engine = e
	if got := b.Line("TDIGEST.INFO d"); !strings.Contains(got, "+Total compressions :0 ") {
		t.Errorf("TDIGEST.INFO = %s", got)
	}
}
