package engine

// Grants and loans of other nodes that are over, until those nodes are told.

import (
	"encoding/binary"
	"sync"

	"github.com/bloomery/bloomery/server/internal/answer"
)

// ended is the numbers of such grants, 8 bytes each, by the node that has given them. A node that is being told has
// an entry, and one goroutine: all that end meanwhile are told in its next question. What a node does not hear of, it
// ends itself (grantFor).
type ended struct {
	mu      sync.Mutex // guards what follows
	of      map[uint32][]byte
	over    bool // the engine has ended
	telling sync.WaitGroup
}

// mostEnded is how many bytes of numbers are kept for a node, and told it in one question.
const mostEnded = 128 << 10

// endGrant has another node give back what it has set aside. It waits for nothing.
func (e *Engine) endGrant(node uint32, number int64) {
	v := &e.ended
	v.mu.Lock()
	defer v.mu.Unlock()
	numbers, told := v.of[node]
	if v.over || len(numbers) >= mostEnded {
		return
	}
	if v.of == nil {
		v.of = map[uint32][]byte{}
	}
	v.of[node] = binary.LittleEndian.AppendUint64(numbers, uint64(number))
	if !told {
		v.telling.Go(func() { e.tellEnded(node) })
	}
}

// tellEnded tells a node what has ended, until there is nothing left.
func (e *Engine) tellEnded(node uint32) {
	for numbers := e.ended.take(node); len(numbers) > 0; numbers = e.ended.take(node) {
		e.askMark(node, shortAnswer, []byte(roomMark), nil, numbers)
	}
}

// take returns what a node is to be told. If there is nothing, it is not being told any more.
func (v *ended) take(node uint32) (numbers []byte) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if numbers = v.of[node]; len(numbers) == 0 || v.over {
		delete(v.of, node)
		return nil
	}
	v.of[node] = nil
	return numbers
}

// helpEnded ends the grants with these numbers, for the node that had them.
func (e *Engine) helpEnded(numbers []byte) answer.Reply {
	if len(numbers)%hashBytes != 0 {
		return answer.Fail(answer.TextSyntax)
	}
	for ; len(numbers) > 0; numbers = numbers[hashBytes:] {
		e.grants.end(e, int64(Hash(numbers)))
	}
	return answer.OK()
}

// Ended returns when no node is being told what has ended, and no node is told from now on. It is called when the door
// is closed, which lets questions fail that are on their way.
func (e *Engine) Ended() {
	e.ended.mu.Lock()
	e.ended.over = true
	e.ended.mu.Unlock()
	e.ended.telling.Wait()
}
