package engine

// Parts that other machines hold: records of them, and what they say of themselves.

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/door"
	"github.com/bloomery/bloomery/server/internal/shadow"
	"github.com/bloomery/bloomery/server/internal/store"
)

// A record of a part is put in order by a machine that holds the part. Who needs one of another part has
// such a machine do that: a rebuild is about the parts of two filters, and a command that is Apart about
// parts of all machines. It is asked by a question that begins with partsMark, what it is asked for, and
// the parts. Whoever answers asks nobody: so a machine may ask while it runs a command for another one.
//
//	parts apply   (flag, record) …     an outcome each
//	parts look    id, index …          a contents.Progress each
//	parts built   id, attempt          what is built there
const (
	partsMark  = "\x00parts"
	partsApply = "apply"
	partsLook  = "look"
	partsBuilt = "built"

	// recordGrows is the flag of a record that takes memory.
	recordGrows = 1
	// mostAsked is how many such questions, but those for what is built, a machine asks at a time: they
	// share slots with reads.
	mostAsked = 32
	// builtWait is how long a machine waits for what it builds before it answers that it does.
	builtWait = 5 * time.Second
)

// farErrors are those that the sender of a record tells from others, by their number.
var farErrors = []error{
	nil, contents.ErrRetry, store.ErrSealed, contents.ErrRoom, contents.ErrMemory, contents.ErrNoRoom, store.ErrRebuilding, contents.ErrSourced, contents.ErrOtherLoad,
	contents.ErrType, store.ErrCondition, door.ErrMemory, bloomery.ErrFull, bloomery.ErrCorrupt, bloomery.ErrIncompatible, bloomery.ErrTooLarge,
	door.ErrUnknown, door.ErrDown, door.ErrRefused,
}

// appendError appends an error so that readError reads one like it.
func appendError(b []byte, err error) []byte {
	code := 0
	if err != nil {
		if code = slices.IndexFunc(farErrors[1:], func(e error) bool { return errors.Is(err, e) }) + 1; code == 0 {
			code = len(farErrors)
		}
	}
	b = append(b, byte(code))
	if code > 0 {
		text := answer.OneLine(err)
		b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
	}
	return b
}

// readError reads what appendError wrote.
func readError(b []byte) (rest []byte, ok bool, err error) {
	if len(b) == 0 || int(b[0]) > len(farErrors) {
		return nil, false, nil
	}
	code := int(b[0])
	if code == 0 {
		return b[1:], true, nil
	}
	n, rest, ok := length(b[1:])
	if !ok {
		return nil, false, nil
	}
	text := string(rest[:n])
	if err = errors.New(text); code < len(farErrors) {
		err = &farError{farErrors[code], text}
	}
	return rest[n:], true, err
}

// farError is an error of another machine, which has its words.
type farError struct {
	is   error
	text string
}

func (e *farError) Error() string { return e.text }
func (e *farError) Unwrap() error { return e.is }

// doAnywhere is doAndWait for records of parts that other machines may hold. What is seen by others is put
// in order inside the gate, and waited for outside.
func (e *Engine) doAnywhere(s *Session, ops []*door.Op, seen bool) {
	here := func(ops []*door.Op) {
		if seen {
			e.enter(s)
		}
		e.doAndWait(s, ops)
	}
	if e.state.Holdings() == nil || s.group != nil {
		here(ops)
		return
	}
	v := &faraway{e: e, s: s, last: s.helps}
	for looks := 0; len(ops) > 0; looks++ {
		near, far := v.sort(ops, looks)
		e.leave(s)
		if len(far) > 0 {
			defer e.back(s, e.awaits(s, "other machines"))
		}
		places := v.each(far, func(node uint32, list []*door.Op) door.Answer { return v.apply(node, list) }, func() {
			if len(near) > 0 {
				here(near)
				e.leave(s)
			}
		})
		if ops = v.again(ops); len(ops) > 0 {
			v.follow(places, ops)
		}
	}
}

// faraway is how machines are found that hold parts.
type faraway struct {
	e      *Engine
	s      *Session
	last   bool       // another machine waits for this one
	silent bool       // all that hold some part have not answered
	waits  int        // how often it has waited for them
	mu     sync.Mutex // guards what follows
	avoid  []uint32   // that have not answered
}

// node returns a machine that holds a part: 0 for this one. It returns an error if there is none.
func (v *faraway) node(p *contents.Part, looks int) (uint32, error) {
	switch {
	case looks > mostLooks*(1+v.waits):
		return 0, fmt.Errorf("%w: contents are being moved between nodes: send it again", door.ErrDown)
	case v.e.state.Answers(p):
		return 0, nil
	}
	nodes := v.e.router.Holders(p.Shard())
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, n := range nodes {
		if !slices.Contains(v.avoid, n) {
			return n, nil
		}
	}
	v.silent = v.silent || len(nodes) > 0
	return 0, fmt.Errorf("%w: shard %d has no live holder", door.ErrDown, p.Shard())
}

// sort finds who holds the parts of ops. Those of parts that nobody holds are settled; records of the
// catalogue are for every machine. It waits if all that hold a part have not answered: one of them may be starting.
func (v *faraway) sort(ops []*door.Op, looks int) (near []*door.Op, far map[uint32][]*door.Op) {
	for {
		v.silent = false
		near, far = v.divide(ops, looks)
		if !v.silent || !v.e.askAgain(v.s) {
			return near, far
		}
		v.avoid = nil
		v.waits++
	}
}

func (v *faraway) divide(ops []*door.Op, looks int) (near []*door.Op, far map[uint32][]*door.Op) {
	far = map[uint32][]*door.Op{}
	for _, op := range ops {
		op.Err, op.Result.Err, op.Settled = nil, nil, false
		if op.Record.Body != nil && !op.Record.Part() {
			near = append(near, op)
			continue
		}
		entry := v.e.state.Names.ByID(op.Record.ID)
		if entry == nil || contents.PartAt(entry, op.Record.Index) == nil {
			op.Result.Err, op.Result.Done, op.Settled = contents.ErrRetry, 0, true
			continue
		}
		op.Part = contents.PartAt(entry, op.Record.Index)
		switch node, err := v.node(op.Part, looks); {
		case err != nil:
			op.Err, op.Settled = err, true
		case node == 0:
			near = append(near, op)
		default:
			far[node] = append(far[node], op)
		}
	}
	return near, far
}

// again returns ops whose parts were held by others than those who were asked.
func (v *faraway) again(ops []*door.Op) (list []*door.Op) {
	for _, op := range ops {
		if !op.Settled || errors.Is(op.Err, contents.ErrElsewhere) && !errors.Is(op.Err, door.ErrUnknown) {
			list = append(list, op)
		}
	}
	return list
}

// follow waits until this machine knows who holds parts, as far as those do who did not hold them.
func (v *faraway) follow(places []door.Answer, ops []*door.Op) {
	for _, a := range places {
		if err := v.e.router.Follow(a); err != nil {
			for _, op := range ops {
				op.Err, op.Settled = err, true
			}
		}
	}
}

// each asks machines at the same time, while here is run.
func (v *faraway) each(far map[uint32][]*door.Op, ask func(uint32, []*door.Op) door.Answer, here func()) []door.Answer {
	places := make([]door.Answer, len(far))
	var others sync.WaitGroup
	for i, node := range slices.Sorted(maps.Keys(far)) {
		others.Go(func() { places[i] = ask(node, far[node]) })
	}
	here()
	others.Wait()
	return places
}

// ask asks a machine about parts, when its turn has come.
func (v *faraway) ask(node uint32, lanes []int, writes bool, args [][]byte) (door.Answer, error) {
	v.e.asking <- struct{}{}
	defer func() { <-v.e.asking }()
	return v.e.askParts(node, lanes, writes, v.last, args, len(args))
}

// askParts asks a machine about parts, in the lanes of which it has to be as far as this one. The room
// for the answer is that of so many rows.
func (e *Engine) askParts(node uint32, lanes []int, writes, last bool, args [][]byte, rows int) (door.Answer, error) {
	q := &door.Question{Lanes: lanes, Body: appendCall(nil, args), Room: min(4<<10+256*rows, door.MaxQuestion), Writes: writes, Last: last}
	return e.router.Ask([]uint32{node}, q)
}

// apply has a machine put ops in order, and settles them. Those of parts that it does not hold, and all
// of them if nothing was done, are left.
func (v *faraway) apply(node uint32, ops []*door.Op) (place door.Answer) {
	for len(ops) > 0 {
		args, lanes, n := [][]byte{[]byte(partsMark), []byte(partsApply)}, []int(nil), 0
		for size := 0; n < len(ops) && (n == 0 || size+ops[n].Record.Bound() < mostSplit); n++ {
			op := ops[n]
			flag := byte(0)
			if op.Admit != nil {
				flag = recordGrows
			}
			args = append(args, store.AppendRecord([]byte{flag}, &op.Record))
			if lane := v.e.shared.LaneOf(op.Record.ID, op.Record.Index); !slices.Contains(lanes, lane) {
				lanes = append(lanes, lane)
			}
			size += op.Record.Bound()
		}
		a, err := v.ask(node, lanes, true, args)
		if err == nil {
			if err = v.outcomes(a.Body, ops[:n]); err == nil {
				place.Place = max(place.Place, a.Place)
			}
		}
		switch {
		case errors.Is(err, door.ErrUnknown):
			for _, op := range ops[:n] {
				op.Err, op.Settled = err, true
			}
		case err != nil: // nothing was done
			v.mu.Lock()
			v.avoid = append(v.avoid, node)
			v.mu.Unlock()
			return place
		}
		ops = ops[n:]
	}
	return place
}

// outcomes settles ops as a machine has answered that has put them in order.
func (v *faraway) outcomes(b []byte, ops []*door.Op) error {
	for _, op := range ops {
		if len(b) > 0 && b[0] == wasNotHere {
			b = b[1:]
			continue
		}
		if len(b) == 0 || b[0] != wasRun {
			return fmt.Errorf("%w: an answer that cannot be read", door.ErrUnknown)
		}
		rest, ok, failed := readError(b[1:])
		var err error
		if ok {
			rest, ok, err = readError(rest)
		}
		if !ok || len(rest) == 0 {
			return fmt.Errorf("%w: an answer that cannot be read", door.ErrUnknown)
		}
		done, n := binary.Uvarint(rest[1:])
		if n <= 0 || done > math.MaxInt32 {
			return fmt.Errorf("%w: an answer that cannot be read", door.ErrUnknown)
		}
		op.Err, op.Settled = failed, true
		op.Result.Err, op.Result.Changed, op.Result.Done = err, rest[0] != 0, int(done)
		b = rest[1+n:]
	}
	return nil
}

// helpParts answers a question of another machine about parts.
func (e *Engine) helpParts(s *Session, args [][]byte) []byte {
	if len(args) == 0 {
		return nil
	}
	switch string(args[0]) {
	case partsApply:
		return e.helpApply(s, args[1:])
	case partsLook:
		return e.helpLook(args[1:])
	case partsBuilt:
		return e.helpBuilt(args[1:])
	}
	return nil
}

// helpApply puts records in order for another machine.
func (e *Engine) helpApply(s *Session, args [][]byte) (b []byte) {
	ops, here := make([]*door.Op, len(args)), []*door.Op(nil)
	for i, arg := range args {
		op := &door.Op{}
		if len(arg) == 0 {
			return nil
		}
		arg = slices.Clone(arg) // the record may be sent when nobody waits for it any more
		if n, err := op.Record.Decode(arg[1:]); err != nil || n != len(arg)-1 || !toldOf(&op.Record) {
			return nil
		}
		if arg[0] == recordGrows {
			op.Admit = &e.Budget
		}
		ops[i] = op
		entry := e.state.Names.ByID(op.Record.ID)
		if entry == nil || contents.PartAt(entry, op.Record.Index) == nil {
			op.Result.Err, op.Settled = contents.ErrRetry, true
			continue
		}
		if op.Part = contents.PartAt(entry, op.Record.Index); e.state.Answers(op.Part) {
			e.knows(op)
			here = append(here, op)
		}
	}
	if len(here) > 0 {
		e.door.Ready(false)
		e.doAndWait(s, here)
	}
	for _, op := range ops {
		if !op.Settled || errors.Is(op.Err, contents.ErrElsewhere) && !errors.Is(op.Err, door.ErrUnknown) {
			b = append(b, wasNotHere)
			continue
		}
		err := op.Result.Err
		switch o, piece := op.Record.Body.(*store.FilterPiece); {
		case op.Err != nil:
			err = nil
		case err == nil && piece && uint64(o.Offset)+uint64(len(o.Data)) == o.Of:
			err = op.Part.CheckReach()
		}
		changed := byte(0)
		if op.Result.Changed {
			changed = 1
		}
		b = append(appendError(appendError(append(b, wasRun), op.Err), err), changed)
		b = binary.AppendUvarint(b, uint64(max(op.Result.Done, 0)))
	}
	return b
}

// toldOf reports whether another machine can be told what came of a record. Of items it cannot, but for those of
// rebuilds, whose results nobody needs.
func toldOf(r *store.Record) bool {
	_, items := r.Body.(store.Items)
	return r.Part() && (!items || r.OfRebuild())
}

// knows notes in a record which rebuild of its filter this machine knows, whose part has the mark.
func (e *Engine) knows(op *door.Op) {
	switch o := op.Record.Body.(type) {
	case *store.FilterUnion:
		o.Known = e.state.Known(op.Record.ID, op.Part, nil)
	case *store.FilterSource:
		o.Known = e.state.Known(op.Record.ID, op.Part, nil)
	}
}

// Progress returns what there is to know of the parts of a filter, or of a shadow, together, wherever they are held. The
// reply is None if it could be found out. It reports false if the filter is gone.
func (x Contents) Progress(id uint64) (sum contents.Progress, ok bool, failed answer.Reply) {
	rows, ok, failed := x.PartsProgress(id)
	for i := range rows {
		if i == 0 {
			sum = rows[0]
			continue
		}
		sum.Add(&rows[i])
	}
	return sum, ok, failed
}

// PartsProgress is Progress of each part.
func (x Contents) PartsProgress(id uint64) (rows []contents.Progress, ok bool, failed answer.Reply) {
	e := x.e
	e.leave(x.s)
	v := &faraway{e: e, s: x.s}
	var rest []*door.Op // which only name parts
	entry := e.state.Names.ByID(id)
	if entry == nil {
		return nil, false, failed
	}
	for i := range contents.Parts(entry) {
		rest = append(rest, &door.Op{Record: store.Record{ID: id, Index: uint32(i)}})
	}
	rows = make([]contents.Progress, len(rest))
	for looks := 0; len(rest) > 0; looks++ {
		near, far := v.sort(rest, looks)
		places := v.each(far, func(node uint32, list []*door.Op) door.Answer { return v.look(node, list, rows) }, func() {
			for _, op := range near {
				rows[op.Record.Index], op.Settled = op.Part.Progress()
			}
		})
		for _, op := range rest {
			switch {
			case op.Err != nil:
				return nil, false, e.unsettled(op.Err)
			case op.Result.Err != nil:
				return nil, false, failed
			}
		}
		rest = v.again(rest)
		v.follow(places, rest)
	}
	return rows, true, failed
}

// look asks a machine for the progress of parts. Those that it does not hold are left.
func (v *faraway) look(node uint32, list []*door.Op, rows []contents.Progress) door.Answer {
	id := list[0].Record.ID
	args := [][]byte{[]byte(partsMark), []byte(partsLook), binary.AppendUvarint(nil, id)}
	var lanes []int
	for _, op := range list {
		args = append(args, binary.AppendUvarint(nil, uint64(op.Record.Index)))
		if lane := v.e.shared.LaneOf(id, op.Record.Index); !slices.Contains(lanes, lane) {
			lanes = append(lanes, lane)
		}
	}
	a, err := v.ask(node, lanes, false, args)
	if err != nil {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.avoid = append(v.avoid, node)
		return door.Answer{}
	}
	b := a.Body
	for _, op := range list {
		if len(b) == 0 {
			break
		}
		was := b[0]
		if b = b[1:]; was == wasRun {
			if rows[op.Record.Index], b, op.Settled = contents.ReadProgress(b); !op.Settled {
				break
			}
		}
	}
	return door.Answer{Place: a.Place}
}

// helpLook answers what there is to know of parts.
func (e *Engine) helpLook(args [][]byte) (b []byte) {
	numbers, ok := uvarints(args)
	if !ok || len(numbers) == 0 {
		return nil
	}
	entry := e.state.Names.ByID(numbers[0])
	for _, index := range numbers[1:] {
		var p *contents.Part
		if entry != nil && index < contents.MaxParts {
			p = contents.PartAt(entry, uint32(index))
		}
		if p != nil && e.state.Answers(p) {
			if v, ok := p.Progress(); ok {
				b = v.Append(append(b, wasRun))
				continue
			}
		}
		b = append(b, wasNotHere)
	}
	return b
}

// uvarints reads arguments that are a number each.
func uvarints(args [][]byte) (list []uint64, ok bool) {
	for _, a := range args {
		v, n := binary.Uvarint(a)
		if n <= 0 || n != len(a) {
			return nil, false
		}
		list = append(list, v)
	}
	return list, true
}

// AwaitBuilt returns when every machine that is heard of has built the parts that it holds of a shadow that an
// attempt has sealed, and how many items they have. An error means that one of them could not; one that is not
// heard of any more is not waited for if others hold the same.
func (x Contents) AwaitBuilt(sh *shadow.Shadow, attempt uint64) (items uint64, err error) {
	e := x.e
	e.leave(x.s)
	e.waits(x.s, "build a filter")
	entry := sh.Entry()
	var lanes []int
	for i := range contents.Parts(entry) {
		if lane := e.shared.LaneOf(sh.ID, uint32(i)); !slices.Contains(lanes, lane) {
			lanes = append(lanes, lane)
		}
	}
	built := map[uint32]uint64{} // items by part
	var mu sync.Mutex
	var failed error
	note := func(node uint32, list []store.BuiltPart, err error) {
		mu.Lock()
		defer mu.Unlock()
		for _, v := range list {
			built[v.Index] = v.Items
		}
		if err != nil && failed == nil {
			if failed = err; node != 0 {
				failed = fmt.Errorf("node %d: %w", node, err)
			}
		}
	}
	ctx, end := context.WithCancel(context.Background())
	defer end()
	var all sync.WaitGroup
	for _, node := range e.others() {
		all.Go(func() {
			list, err := e.builtAt(ctx, node, lanes, sh.ID, attempt, contents.PartCount(entry))
			note(node, list, err)
		})
	}
	all.Go(func() {
		list, _, err := e.state.BuiltParts(sh.ID, attempt, ctx.Done())
		note(0, list, err)
	})
	if !x.unlessStopped(&all) {
		return 0, contents.ErrStopped
	}
	switch {
	case failed != nil:
		return 0, failed
	case len(built) < contents.PartCount(entry):
		return 0, fmt.Errorf("%w: %d of %d parts have no live holder", door.ErrDown, contents.PartCount(entry)-len(built), contents.PartCount(entry))
	}
	for _, n := range built {
		items += n
	}
	return items, nil
}

// unlessStopped waits for others. It reports false if the command is given up before.
func (x Contents) unlessStopped(others *sync.WaitGroup) bool {
	done := make(chan struct{})
	go func() {
		others.Wait()
		close(done)
	}()
	look := time.NewTicker(stoppedLook)
	defer look.Stop()
	for {
		select {
		case <-done:
			return true
		case <-look.C:
			if x.Stopped() {
				return false
			}
		}
	}
}

// stoppedLook is how often a command that waits for others looks whether it is given up.
const stoppedLook = 100 * time.Millisecond

// others returns the other machines that were heard of lately.
func (e *Engine) others() (nodes []uint32) {
	status := e.shared.Cluster()
	for i := range status.Nodes {
		if n := &status.Nodes[i]; n.Live && n.Number != status.Node {
			nodes = append(nodes, n.Number)
		}
	}
	return nodes
}

// builtAt returns what a machine has built. It is nothing if the machine does not answer, or if the command was given up.
func (e *Engine) builtAt(ctx context.Context, node uint32, lanes []int, id, attempt uint64, parts int) ([]store.BuiltPart, error) {
	args := [][]byte{[]byte(partsMark), []byte(partsBuilt), binary.AppendUvarint(nil, id), binary.AppendUvarint(nil, attempt)}
	for ctx.Err() == nil {
		a, err := e.askParts(node, lanes, false, false, args, parts)
		if err != nil || len(a.Body) == 0 {
			break
		}
		if a.Body[0] != wasRun {
			continue // it is being built
		}
		rest, ok, err := readError(a.Body[1:])
		if err != nil || !ok {
			return nil, err
		}
		var list []store.BuiltPart
		for len(rest) > 0 {
			index, n := binary.Uvarint(rest)
			items, m := binary.Uvarint(rest[max(n, 0):])
			if n <= 0 || m <= 0 || index >= uint64(parts) {
				return nil, nil
			}
			list, rest = append(list, store.BuiltPart{Index: uint32(index), Items: items}), rest[n+m:]
		}
		return list, nil
	}
	return nil, nil
}

// helpBuilt answers what is built here of a shadow.
func (e *Engine) helpBuilt(args [][]byte) []byte {
	numbers, ok := uvarints(args)
	if !ok || len(numbers) != 2 {
		return nil
	}
	ctx, end := context.WithTimeout(context.Background(), builtWait)
	defer end()
	list, done, err := e.state.BuiltParts(numbers[0], numbers[1], ctx.Done())
	if !done {
		return []byte{wasNotHere}
	}
	b := appendError([]byte{wasRun}, err)
	for _, v := range list {
		b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(v.Index)), v.Items)
	}
	return b
}

// Whole reports whether this machine answers for all parts of an entry.
func (x Contents) Whole(entry *catalog.Entry) bool {
	return x.e.state.Holdings() == nil || x.e.answers(entry)
}
