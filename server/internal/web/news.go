package web

// Copies of a filter: what they lack, and whole files, by tags.

import (
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/news"
	"github.com/bloomery/bloomery/server/internal/answer"
)

var newsRoutes = []route{
	{"GET", "/api/v1/filters/{name}/news", (*call).news, reads, "Returns what a copy of a filter lacks: changes, or all of it."},
	{"GET", "/api/v1/filters/{name}/file", (*call).file, reads, "Returns a filter as a file, in the transport form."},
}

// mostNews is how many bytes an answer of FILTER.NEWS may be asked to have.
const mostNews = 16 << 20

// changes is an answer of FILTER.NEWS.
type changes struct {
	token, check string
	more         bool
	pieces       []answer.Reply // of each its part, its form and its bytes
}

// ask asks for the news of a filter since a token, "" for all of it.
func (c *call) ask(name, since string, most int) (v changes, err error) {
	args := []string{"FILTER.NEWS", name, "MAX", strconv.Itoa(most)}
	if since != "" {
		args = append(args, "SINCE", since)
	}
	reply, err := c.do(args...)
	if err != nil {
		return v, err
	}
	e := reply.Elems
	return changes{e[0].Text, strconv.FormatInt(e[3].N, 10), e[1].N != 0, e[2].Elems}, nil
}

// none reports whether nothing is new.
func (v *changes) none() bool { return len(v.pieces) == 0 && !v.more }

// token returns the token that the client has, of its tag or of its query: "" for none. A tag that
// is no token is that of something else.
func (c *call) token() string {
	if t := c.r.URL.Query().Get("since"); t != "" {
		return t
	}
	for tag := range strings.SplitSeq(c.r.Header.Get("If-None-Match"), ",") {
		t := strings.Trim(strings.TrimPrefix(strings.TrimSpace(tag), "W/"), `"`)
		if _, err := news.ParseToken(t); err == nil {
			return t
		}
	}
	return ""
}

// tagged notes the tag of an answer, which is asked for again by it. It reports whether the client has
// it, and has answered then.
func (c *call) tagged(v *changes, since string) bool {
	head := c.w.Header()
	head.Set("ETag", `"`+v.token+`"`)
	head.Set("Cache-Control", "no-cache")
	if (since == "" || !v.none()) && !anyTag(c.r) {
		return false
	}
	c.w.WriteHeader(http.StatusNotModified)
	return true
}

// anyTag reports whether a client has something of what it asks for, and wants it only if there is nothing.
func anyTag(r *http.Request) bool { return strings.TrimSpace(r.Header.Get("If-None-Match")) == "*" }

func (c *call) news() error {
	name, err := c.filterName()
	if err != nil {
		return err
	}
	f := fieldsOf(c.r.URL.Query())
	most := f.whole("max", mostNews, 64, mostNews)
	if err := f.err(); err != nil {
		return err
	}
	since := c.token()
	v, err := c.ask(name, since, most)
	if err != nil {
		return err
	}
	if c.tagged(&v, since) {
		return nil
	}
	pieces := make([]object, len(v.pieces))
	for i, p := range v.pieces {
		pieces[i] = object{"part": p.Elems[0].N, "form": p.Elems[1].Text, "data": []byte(p.Elems[2].Text)}
	}
	return c.json(http.StatusOK, object{"token": v.token, "more": v.more, "pieces": pieces, "check": v.check})
}

// file sends a filter, its parts as stripes.
func (c *call) file() error {
	name, err := c.filterName()
	if err != nil {
		return err
	}
	if since := c.token(); since != "" {
		v, err := c.ask(name, since, 64)
		if err != nil {
			return err
		}
		if c.tagged(&v, since) {
			return nil
		}
		c.reuse()
	}
	parts, token, err := c.parts(name)
	if err != nil {
		return err
	}
	if c.tagged(&changes{token: token}, "") {
		return nil
	}
	data := parts[0]
	if len(parts) > 1 {
		if data, err = c.stripes(parts); err != nil {
			return err
		}
	}
	head := c.w.Header()
	head.Set("Content-Type", "application/octet-stream")
	head.Set("Content-Length", strconv.Itoa(len(data)))
	c.w.WriteHeader(http.StatusOK)
	c.send(data)
	return nil
}

// parts returns the parts of a filter, each in the transport form, and the token of who has
// them. What has changed in one while others were asked for is left to the next question.
func (c *call) parts(name string) (parts []string, token string, err error) {
	var have news.Token
	rounds := 0
	for since := ""; parts == nil || slices.Contains(have.Numbers, news.Unknown); {
		v, err := c.ask(name, since, mostNews)
		if err != nil {
			return nil, "", err
		}
		now, err := news.ParseToken(v.token)
		switch {
		case err != nil:
			return nil, "", err
		case parts == nil:
			parts, have = make([]string, len(now.Numbers)), news.New(now.Epoch, len(now.Numbers))
		case now.Epoch != have.Epoch || len(now.Numbers) != len(parts) || rounds > len(parts): // each has a part at least, unless very much has changed
			return nil, "", problem{http.StatusServiceUnavailable, "busy", "the filter has changed too much meanwhile: ask again"}
		}
		rounds++
		for _, p := range v.pieces {
			at, form := p.Elems[0].N, p.Elems[1].Text
			if form != news.Whole && form != news.Dump {
				continue
			}
			parts[at], have.Numbers[at] = p.Elems[2].Text, now.Numbers[at]
			if err := c.keep(uint64(len(parts[at]))); err != nil {
				return nil, "", err
			}
		}
		since = v.token
	}
	return parts, have.String(), nil
}

// keep counts memory until the request is answered.
func (c *call) keep(n uint64) error {
	c.held += int(n)
	if !c.h.Engine.Hold(c.session, int(n)) {
		return problemOf(answer.TextOOM)
	}
	return nil
}

// stripes returns one transport form of all parts.
func (c *call) stripes(parts []string) (string, error) {
	plain := make([][]byte, len(parts))
	for i, p := range parts {
		r := codec.NewReader(strings.NewReader(p))
		head := make([]byte, envelope.HeaderSize)
		if _, err := io.ReadFull(r, head); err != nil {
			return "", err
		}
		h, err := envelope.ParseHeader(head)
		if err != nil {
			return "", err
		}
		if err := c.keep(3 * h.EncodedSize()); err != nil { // with what they are together, and that compressed
			return "", err
		}
		if plain[i], err = codec.Decompress(nil, []byte(p)); err != nil {
			return "", err
		}
	}
	data, err := envelope.Stripes(plain)
	if err != nil {
		return "", err
	}
	packed, err := codec.Compress(nil, data)
	return string(packed), err
}

const (
	// fileTime is how long a client may take for a file: as long as for any answer.
	fileTime = time.Minute
	// pieceTime is how long it may take for pieceBytes of it. The memory of the file is held
	// meanwhile: who takes none of it must not keep others from theirs.
	pieceTime  = 5 * time.Second
	pieceBytes = 64 << 10
)

// send sends a file to a client that takes it. Where no time can be set, that of the program
// around us holds.
func (c *call) send(data string) {
	control, end := http.NewResponseController(c.w), time.Now().Add(fileTime)
	for len(data) > 0 {
		next := time.Now().Add(pieceTime)
		if next.After(end) {
			next = end
		}
		_ = control.SetWriteDeadline(next)
		n, err := io.WriteString(c.w, data[:min(len(data), pieceBytes)])
		if err != nil { // whoever does not take it has gone
			return
		}
		data = data[n:]
	}
	_ = control.SetWriteDeadline(end) // for what is buffered
}
