package engine

import "github.com/bloomery/bloomery/server/internal/answer"

// Call: a command on its way.

// Call is a command on its way: what was sent and what is answered.
type Call struct {
	// Args are the arguments, the name included. They are valid until the
	// call is answered and written.
	Args [][]byte
	// Reply is the answer.
	Reply answer.Reply
	// Proto is the protocol version in force when the call was answered.
	Proto uint8
	// Mute reports that the client asked not to get the reply.
	Mute bool

	// Items are what a command on a filter is about; Parse sets them.
	Items [][]byte
	// Option is what a command keeps from one step to the next.
	Option any

	cmd      *Command
	answered bool                // Reply is final
	queued   bool                // it is for EXEC to run
	waiting  bool                // for a record that is on its way
	barred   bool                // its user had no right to it when EXEC began
	own      bool                // Args are its own: nobody uses their memory for something else
	single   bool                // its record is its own: together there was no memory
	rooms    uint8               // how often a record of it had too little room
	pieces   *pieces             // what was done of it before
	made     *made               // what it will store
	first    int                 // of the items' digests in the workspace
	finish   func() answer.Reply // makes the reply when the gate is left
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

// answerList makes an array the reply.
func (c *Call) answerList(elems []answer.Reply) {
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
	if c.cmd.Filter.Single {
		c.Reply.Kind, c.Reply.N = answer.Bool, 0
		if v[0] {
			c.Reply.N = 1
		}
		return
	}
	c.Reply.Kind, c.Reply.Bools = answer.Bools, v
}
