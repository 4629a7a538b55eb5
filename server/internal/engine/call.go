package engine

import (
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/scratch"
)

// Call: a command on its way.

// Call is a command on its way: what was sent and what is answered.
type Call struct {
	// Args are the arguments, the name included. They are valid until the
	// call is answered and written.
	Args [][]byte
	// Reply is the answer.
	Reply answer.Reply
	// Items are what a command on a filter is about; Parse sets them.
	Items [][]byte
	// Option is what a command keeps from one step to the next.
	Option any

	// First, Rooms, Single and Pieces are kept for those who run bundles: where the digests
	// of the items begin in the memory, how often a record of it had too little room, that
	// its record is its own since together there was no memory, and what was done of it
	// before.
	First  int
	Pieces *scratch.Pieces
	Rooms  uint8
	Single bool

	// Mute reports that the client asked not to get the reply.
	Mute bool

	// Add empties these and the three above, which lie side by side, with one store.
	answered bool  // Reply is final
	queued   bool  // it is for EXEC to run
	waiting  bool  // for a record that is on its way
	looked   bool  // it is counted that it has looked for its key
	looks    uint8 // how often another machine did not hold what it was asked for

	// Proto is the protocol version in force when the call was answered.
	Proto uint8

	barred bool   // its user had no right to it when EXEC began
	own    bool   // Args are its own: nobody uses their memory for something else
	filter uint64 // whose hashes the items are, 0 if they are none
	cmd    *Command
	made   *made               // what it will store
	finish func() answer.Reply // makes the reply when the gate is left
}

// callBytes is what a Call takes in an array of them.
const callBytes = 232

// Command returns what is called.
func (c *Call) Command() *Command { return c.cmd }

// Answer makes r the reply.
func (c *Call) Answer(r answer.Reply) {
	c.Reply = r
	c.answered = true
}

// Probe returns a call of the same arguments that nobody waits for.
func (c *Call) Probe() Call { return Call{Args: c.Args, Items: c.Args[2:], cmd: c.cmd} }

// Count returns the number of items.
func (c *Call) Count() int {
	if c.cmd.bundling.Stride == 2 {
		return len(c.Items) / 2
	}
	return len(c.Items)
}

// Conclude says that Reply is the answer, or will be in a moment.
func (c *Call) Conclude() { c.answered = true }

// AnswerList makes an array the reply.
func (c *Call) AnswerList(elems []answer.Reply) {
	c.Reply.Kind, c.Reply.Text, c.Reply.Elems = answer.Array, "", elems
	c.answered = true
}

// Answered reports whether the reply is there, or will be made later.
func (c *Call) Answered() bool { return c.answered }

// Fail answers an error.
func (c *Call) Fail(text string) { c.Answer(answer.Fail(text)) }

// AnswerLater has f make the reply, outside the gate: for what is long and needs
// only what Run has frozen.
func (c *Call) AnswerLater(f func() answer.Reply) {
	c.finish = f
	c.answered = true
}

// AnswerBools answers a single value or an array, as the command does.
func (c *Call) AnswerBools(v []bool) {
	c.answered = true
	c.Reply.Text = ""
	if c.cmd.bundling.Single {
		c.Reply.Kind, c.Reply.N = answer.Bool, 0
		if v[0] {
			c.Reply.N = 1
		}
		return
	}
	c.Reply.Kind, c.Reply.Bools = answer.Bools, v
}
