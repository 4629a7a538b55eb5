package filter

// FILTER.LOAD with FROM: summaries of several sources in one filter.

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"sync"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/filters"
	"github.com/bloomery/bloomery/server/internal/staging"
	"github.com/bloomery/bloomery/server/internal/store"
)

const (
	// sourcePiece is how many bytes of a source one record holds at most.
	sourcePiece = 256 << 10
	// pieceReads is how many bytes of all sources a record has read at most: that takes 3 to 6 ms under the lock of the part.
	pieceReads = 8 << 20
)

// checkSource returns what is wrong with the name of a source, or "".
func checkSource(name []byte) string {
	if len(name) == 0 || len(name) > contents.MaxSourceName {
		return "ERR FROM takes a name of 1 to " + strconv.Itoa(contents.MaxSourceName) + " bytes"
	}
	return ""
}

const textMadeMeanwhile = "ERR another client has made the filter meanwhile: send all parts again"

// loadSource stores a part of a version of a source, and answers. The part takes the place of the
// version before when all of it is there: whoever asks meanwhile finds that one. The first source makes
// the filter, which has its name when all parts have come.
func loadSource(x *engine.Context, c *engine.Call, part, parts int, v *loadCall) {
	switch {
	case x.Transaction().Queued():
		c.Fail("ERR FILTER.LOAD with FROM is not for transactions: it is stored in pieces")
		return
	case x.Contents().Level() < store.LevelSources:
		c.Fail(answer.NeedsUpgrade("FROM"))
		return
	}
	plan, err := planOf(x, c, nil, parts, 0)
	if err == nil {
		err = checkSummary(c.Args[3])
	}
	switch {
	case c.Answered():
		return
	case err != nil:
		c.Fail(refusedSource(err))
		return
	}
	for !c.Answered() {
		loadSourceOnce(x, c, &plan, part, v)
	}
}

// refusedSource returns why a summary is refused, as a sentence.
func refusedSource(err error) string {
	text, ok := strings.CutPrefix(answer.OneLine(err), "store: source: ")
	if !ok {
		return filters.Failure(err)
	}
	for _, sentinel := range []error{bloomery.ErrIncompatible, bloomery.ErrTooLarge} {
		text = strings.TrimPrefix(text, sentinel.Error()+": ")
	}
	return "ERR the source is refused: " + text
}

// checkSummary returns what is wrong with the file of a source.
func checkSummary(data []byte) error {
	header, err := codec.Peek(data)
	if err != nil {
		return err
	}
	if err := contents.CheckSourceKind(header.Kind.Name); err != nil {
		return err
	}
	info, err := codec.Inspect(bytes.NewReader(data))
	if err != nil {
		return err
	}
	return info.Err()
}

// loadSourceOnce is loadSource. It does not answer if somebody has made the filter meanwhile.
func loadSourceOnce(x *engine.Context, c *engine.Call, plan *contents.Plan, part int, v *loadCall) {
	var entry *catalog.Entry
	x.Look(func() { entry = x.Names().Lookup(c.Args[1]) })
	name, parts := string(c.Args[1]), 1<<plan.Parts
	t := x.Contents().Shelf().Get(name)
	switch {
	case entry == nil:
		makeSourced(x, c, plan, part, v)
	case entry.Kind != catalog.Filter:
		c.Fail(answer.TextWrongType)
	case contents.PartCount(entry) != parts:
		c.Fail("ERR the filter has " + strconv.Itoa(contents.PartCount(entry)) + " parts, and the source " + strconv.Itoa(parts))
	case t != nil && t.Source == string(v.from):
		unstage(x, name)
		c.Fail(textMadeMeanwhile)
	default:
		c.Answer(putSource(x, entry, part, v, c.Args[3], x.Contents().ApplyPiece))
	}
}

// makeSourced stores a part of the first source of a filter, and gives that its name with the last.
func makeSourced(x *engine.Context, c *engine.Call, plan *contents.Plan, part int, v *loadCall) {
	name, data, parts := string(c.Args[1]), c.Args[3], 1<<plan.Parts
	t := x.Contents().Shelf().Get(name)
	if t != nil && (t.Source != string(v.from) || t.Version != v.version || t.Parts() != parts) {
		unstage(x, name) // another load begins
		t = nil
	}
	if t == nil {
		outline := append(append([]byte{}, data[:headerBytes]...), 0) // no words besides the header
		var failed answer.Reply
		if t, failed = x.Staging().Blank(c.Args[1], plan, outline); failed.Kind != answer.None {
			c.Answer(failed)
			return
		}
		t.Source, t.Version = string(v.from), v.version
	}
	some, _ := t.Has(part, data)
	if put := putSource(x, t.Entry, part, v, data, x.Contents().ApplyUnseen); put.Failed() || some {
		if x.Contents().Shelf().Get(name) != t {
			x.Staging().Drop(t.ID)
		}
		c.Answer(put)
		return
	}
	t.Came(part, data)
	switch {
	case t.Left == 0:
		x.Contents().Shelf().Take(name)
		revealSourced(x, c, t)
	case !x.Contents().Shelf().Keep(name, t):
		x.Staging().Drop(t.ID)
		c.Fail(answer.TextOOM)
	default:
		c.Answer(answer.Flag(true))
	}
}

// revealSourced gives a filter its name, and answers. If somebody has made one meanwhile it does so only if
// more parts than that of the call are lost.
func revealSourced(x *engine.Context, c *engine.Call, t *staging.Staged) {
	made := c.Probe()
	reveal(x, &made, t, answer.Reply{}, store.IfAbsent)
	switch {
	case made.Reply.Failed():
		c.Answer(made.Reply)
	case made.Answered():
		c.Answer(answer.Flag(true))
	case t.Parts() > 1:
		c.Fail(textMadeMeanwhile)
	}
}

// putSource stores data as a version of a source of a part, in pieces, and returns the answer.
func putSource(x *engine.Context, entry *catalog.Entry, part int, v *loadCall, data []byte, apply func(*contents.Part, store.Record) (store.Result, answer.Reply)) answer.Reply {
	p := contents.PartAt(entry, uint32(part))
	sources := p.Sources()
	for _, s := range sources {
		if s.Name == string(v.from) && s.Version >= v.version {
			return answer.Flag(false)
		}
	}
	release, failed := x.Contents().ReserveFor(p, 3*uint64(len(data))) // the version, what the filter will be, and what it has without sources
	if failed.Kind != answer.None {
		return failed
	}
	release = sync.OnceFunc(release)
	defer release()
	known := x.Contents().LastRebuild(entry.ID, p, nil)
	piece := min(sourcePiece, pieceReads/(len(sources)+1))
	for at := 0; at < len(data); at += piece {
		if x.Stopped() {
			return answer.Fail(answer.TextStopped)
		}
		body := &store.FilterSource{SourcePiece: contents.SourcePiece{
			Source: v.from, Version: v.version, At: x.Milliseconds(),
			Offset: int64(at), Of: uint64(len(data)), Data: data[at:min(at+piece, len(data))],
		}, Known: known}
		res, failed := apply(p, store.Record{ID: entry.ID, Index: uint32(part), Body: body})
		release() // the first piece has made all arrays, which count by themselves
		switch {
		case failed.Kind != answer.None:
			return failed
		case errors.Is(res.Err, contents.ErrRetry):
			return answer.Fail(answer.TextNotFound)
		case res.Err != nil:
			return answer.Fail(refusedSource(res.Err))
		case !res.Changed: // another has loaded it, or a later one, meanwhile
			return answer.Flag(false)
		}
	}
	return answer.Flag(true)
}

// sourceInfo is a source as FILTER.INFO shows it: the oldest version that a part has.
type sourceInfo struct {
	Source  string `json:"source"`
	Version int64  `json:"version"`
	Age     int64  `json:"age"` // seconds
}

func sourcesOf(x *engine.Context, entry *catalog.Entry) (list []sourceInfo) {
	at := map[string]int{}
	for _, p := range contents.Parts(entry) {
		for _, s := range p.Sources() {
			this := sourceInfo{s.Name, whole(s.Version), max(0, (x.Milliseconds()-s.At)/1000)}
			place, known := at[s.Name]
			switch {
			case !known:
				at[s.Name] = len(list)
				list = append(list, this)
			case this.Version < list[place].Version:
				list[place] = this
			}
		}
	}
	return list
}

func answerSources(list []sourceInfo) answer.Reply {
	rows := make([]answer.Reply, 0, len(list))
	for _, s := range list {
		rows = append(rows, asMap([]field{{"source", s.Source}, {"version", s.Version}, {"age", s.Age}}))
	}
	return answer.List(rows...)
}
