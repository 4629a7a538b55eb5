package scratch

import (
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/contents"
)

// Pieces is a call of very many items while it is run, some of them at a time.
// Digests take memory for one piece only; the answers are held for the reply.
type Pieces struct {
	Found []bool
	Codes []int8
	Elems []answer.Reply // of a sketch
	Done  int
	Err   error // of the first piece that had one

	Failed map[int]string // errors of items that did not stop the others

	Part *contents.Part // of a sketch: what the items were checked for
	Most int            // of a sketch: how many items a piece has
	Cut  int            // of a sketch: how much is done of an item that is sliced
}

// Fail notes the error of an item.
func (p *Pieces) Fail(i int, text string) {
	if p.Failed == nil {
		p.Failed = map[int]string{}
	}
	p.Failed[i] = text
}
