package web

// A request on its way: its user, its session, its answer.

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/engine"
)

// call is a request on its way: its user, and the session in which its commands
// run. It belongs to the goroutine of the request.
type call struct {
	h        *Handler
	w        http.ResponseWriter
	r        *http.Request
	session  *engine.Session // nil for what needs none
	known    bool            // the client has given the token, or the password of a user
	trusted  bool            // it was the token
	unwatch  func() bool     // ends what ends the session with the request
	spaces   []*engine.Workspace
	held     int  // bytes of the body, in the budget
	watching bool // it is the page that asks
}

// answer answers a request by its route.
func (h *Handler) answer(route *route, w http.ResponseWriter, r *http.Request) {
	c := &call{h: h, w: w, r: r}
	defer c.close()
	err := c.admit(route.access)
	if err == nil {
		err = route.run(c)
	}
	if err != nil {
		p := asProblem(err)
		p.challenge(w.Header(), r)
		writeProblem(w, p)
	}
}

// admit checks that a request has the access that its route needs.
func (c *call) admit(a access) error {
	switch a {
	case anybody:
		return nil
	case static:
		if c.h.Token != "" {
			return nil // the page asks for it
		}
		return c.h.protect(c.r)
	case inside:
		if !c.h.Debug {
			return noSuchPath
		}
	case reads, writes:
	}
	if err := c.identify(); err != nil {
		return err
	}
	if a == inside && !c.trusted {
		return problem{http.StatusUnauthorized, "unauthorized", "profiles and traces need the token (Authorization: Bearer)"}
	}
	if a == writes {
		return c.authorize()
	}
	return nil
}

// open makes the session of the call.
func (c *call) open() {
	local := ""
	if a, ok := c.r.Context().Value(http.LocalAddrContextKey).(interface{ String() string }); ok {
		local = a.String()
	}
	c.session = c.h.NewSession(c.r.RemoteAddr, local)
	c.unwatch = context.AfterFunc(c.r.Context(), c.session.End) // the client is gone, or the server ends
	c.session.Watching = c.watching
}

// reuse gives back the memory of the replies so far.
func (c *call) reuse() {
	for _, w := range c.spaces {
		w.Reset()
		c.h.spaces.Put(w)
	}
	c.spaces = nil
}

// close gives back all that the call has taken.
func (c *call) close() {
	c.reuse()
	if c.session != nil {
		c.unwatch()
		c.h.Engine.Hold(c.session, -c.held)
		c.h.Engine.Close(c.session)
		c.session, c.held = nil, 0
	}
}

// do runs a command in the session of the call. A reply that is an error is
// returned as one. What is returned is valid until reuse or close is called.
func (c *call) do(args ...string) (*answer.Reply, error) {
	words := make([][]byte, len(args))
	for i, a := range args {
		words[i] = []byte(a)
	}
	replies, err := c.doAll([][][]byte{words})
	if err != nil {
		return nil, err
	}
	if replies[0].Failed() {
		return nil, problemOf(replies[0].Text)
	}
	return &replies[0], nil
}

// doAll runs commands one after the other and returns their replies, errors
// included.
func (c *call) doAll(commands [][][]byte) ([]answer.Reply, error) {
	w := c.h.spaces.Get().(*engine.Workspace)
	c.spaces = append(c.spaces, w)
	for _, args := range commands {
		w.Add(args)
	}
	for done := 0; done < len(commands); {
		n, err := c.exec(w, done)
		if err != nil {
			return nil, err
		}
		if done += n; n > 0 {
			continue
		}
		if err := c.paused(c.r.Context()); err != nil {
			return nil, err
		}
	}
	replies := make([]answer.Reply, len(commands))
	for i := range replies {
		replies[i] = w.Calls[i].Reply
	}
	return replies, nil
}

// paused waits while commands of clients are held back (CLIENT PAUSE).
func (c *call) paused(ctx context.Context) error {
	stop := context.AfterFunc(ctx, c.session.Wake)
	defer stop()
	c.h.Engine.Pause.Wait(&c.session.Client, func() bool { return ctx.Err() != nil })
	if ctx.Err() != nil {
		return problem{http.StatusServiceUnavailable, "paused", "the clients of the server are paused"}
	}
	return nil
}

// slotWait is how long a request waits for others to end.
const slotWait = 5 * time.Second

// exec runs the commands of w from one on, and returns how many it has answered.
// Only so many requests run at a time; one that waits for its client, or for the end
// of a pause, is not among them.
func (c *call) exec(w *engine.Workspace, from int) (int, error) {
	timer := time.NewTimer(slotWait)
	defer timer.Stop()
	select {
	case c.h.slots <- struct{}{}:
		defer func() { <-c.h.slots }()
		return c.h.Engine.Exec(c.session, w, from), nil
	case <-timer.C:
	case <-c.r.Context().Done():
	}
	return 0, problem{http.StatusServiceUnavailable, "busy", "too many requests run at the moment"}
}

// json answers a value.
func (c *call) json(status int, v any) error {
	data, err := encode(v)
	if err != nil {
		return err
	}
	writeBytes(c.w, status, "application/json", data)
	return nil
}

// encode writes a value as JSON. The response is no part of a page: characters that
// mean something in HTML stay as they are.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
