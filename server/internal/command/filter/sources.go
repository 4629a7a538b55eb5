package filter

// FILTER.LOAD with FROM: summaries of several sources in one filter.

import (
	"errors"
	"strconv"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/store"
)

// sourcePiece is how many bytes of a source one record holds.
const sourcePiece = 256 << 10

// checkSource returns what is wrong with the name of a source, or "".
func checkSource(name []byte) string {
	if len(name) == 0 || len(name) > store.MaxSourceName {
		return "ERR FROM takes a name of 1 to " + strconv.Itoa(store.MaxSourceName) + " bytes"
	}
	return ""
}

// loadSource stores a part of a version of a source, and answers. The part takes the place of the
// version before when all of it is there: whoever asks meanwhile finds that one.
func loadSource(x *engine.Context, c *engine.Call, part, parts int, v *loadCall) {
	switch {
	case x.Transaction().Queued():
		c.Fail("ERR FILTER.LOAD with FROM is not for transactions: it is stored in pieces")
		return
	case x.Contents().Level() < store.LevelSources:
		c.Fail("ERR FROM: nodes of an older release do not know it: bloomery cluster upgrade first")
		return
	}
	entry := sourced(x, c, parts)
	if entry == nil {
		return
	}
	data, p := c.Args[3], store.PartAt(entry, uint32(part))
	for _, s := range p.Sources() {
		if s.Name == string(v.from) && s.Version >= v.version {
			c.Answer(answer.Flag(false))
			return
		}
	}
	release, ok := x.Contents().Reserve(3 * uint64(len(data))) // the encoding, what becomes of it, and what is added
	if !ok {
		c.Fail(answer.TextOOM)
		return
	}
	defer release()
	known := x.Contents().LastRebuild(entry.ID, p, nil)
	for at := 0; at < len(data); at += sourcePiece {
		if x.Stopped() {
			c.Fail(answer.TextStopped)
			return
		}
		body := &store.FilterSource{
			Source: v.from, Version: v.version, At: x.Milliseconds(),
			Offset: int64(at), Of: uint64(len(data)), Data: data[at:min(at+sourcePiece, len(data))], Known: known,
		}
		res, failed := x.Contents().ApplyPiece(p, store.Record{ID: entry.ID, Index: uint32(part), Body: body})
		switch {
		case failed.Kind != answer.None:
			c.Answer(failed)
			return
		case errors.Is(res.Err, store.ErrRetry):
			c.Fail(answer.TextNotFound)
			return
		case res.Err != nil:
			c.Fail(failure(res.Err))
			return
		case !res.Changed: // another has loaded it, or a later one, meanwhile
			c.Answer(answer.Flag(false))
			return
		}
	}
	c.Answer(answer.Flag(true))
}

// sourced returns the filter that a source is for, and makes it, empty, if there is none. It answers if
// that cannot be.
func sourced(x *engine.Context, c *engine.Call, parts int) (entry *catalog.Entry) {
	plan, err := planOf(x, c, nil, parts, 0)
	if err == nil && len(c.Args[3]) < headerBytes {
		err = errors.New("the data are no filter")
	}
	switch {
	case c.Answered():
		return nil
	case err != nil:
		c.Fail("ERR " + answer.OneLine(err))
		return nil
	}
	for {
		x.Look(func() { entry = x.Names().Lookup(c.Args[1]) })
		switch {
		case entry == nil:
		case entry.Kind != catalog.Filter:
			c.Fail(answer.TextWrongType)
			return nil
		case store.PartCount(entry) != parts:
			c.Fail("ERR the filter has " + strconv.Itoa(store.PartCount(entry)) + " parts, and the source " + strconv.Itoa(parts))
			return nil
		default:
			return entry
		}
		outline := append(append([]byte{}, c.Args[3][:headerBytes]...), 0) // no words besides the header
		t, failed := x.Staging().Blank(c.Args[1], &plan, outline)
		made := c.Probe()
		if reveal(x, &made, t, failed, store.IfAbsent); made.Reply.Failed() {
			c.Answer(made.Reply)
			return nil
		}
	}
}

// sourceInfo is a source as FILTER.INFO shows it: the oldest version that a part has.
type sourceInfo struct {
	Source  string `json:"source"`
	Version int64  `json:"version"`
	Age     int64  `json:"age"` // seconds
}

func sourcesOf(x *engine.Context, entry *catalog.Entry) (list []sourceInfo) {
	at := map[string]int{}
	for _, p := range store.Parts(entry) {
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
