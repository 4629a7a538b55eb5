package commandtest

// Copies of filters, as followers keep them.

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"testing"

	"github.com/bloomery/bloomery"
	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/internal/envelope"
	"github.com/bloomery/bloomery/internal/news"
	"github.com/bloomery/bloomery/internal/redisbloom"
	"github.com/bloomery/bloomery/server/internal/answer"
)

// Copy is a copy of a filter that is kept by FILTER.NEWS.
type Copy struct {
	Token string
	Parts [][]byte // encodings
	Bytes int      // of the last news
	Forms string   // of the last news
}

// Ask asks for news until there are none, with further arguments. It returns the error that was answered, or "".
func (f *Copy) Ask(t testing.TB, do func(args [][]byte) answer.Reply, key string, more ...string) (failed string) {
	t.Helper()
	f.Bytes, f.Forms = 0, ""
	for again := true; again; {
		args := []string{"FILTER.NEWS", key}
		if f.Token != "" {
			args = append(args, "SINCE", f.Token)
		}
		r := do(Bytes(append(args, more...)))
		if r.Failed() {
			return r.Text
		}
		if r.Kind != answer.Array || len(r.Elems) != 4 {
			t.Fatalf("news of %s: %s", key, Show(r))
		}
		f.Token, again = r.Elems[0].Text, r.Elems[1].N == 1
		parsed, err := news.ParseToken(f.Token)
		if err != nil {
			t.Fatal(err)
		}
		if len(f.Parts) != len(parsed.Numbers) {
			f.Parts = make([][]byte, len(parsed.Numbers))
		}
		var pieces []news.Piece
		for _, p := range r.Elems[2].Elems {
			pieces = append(pieces, news.Piece{Part: int(p.Elems[0].N), Form: p.Elems[1].Text, Data: []byte(p.Elems[2].Text)})
		}
		if got := news.Check(key, f.Token, again, pieces); int64(got) != r.Elems[3].N {
			t.Errorf("the checksum of news of %s is %d, want %d", key, r.Elems[3].N, got)
		}
		for _, p := range pieces {
			f.Bytes, f.Forms = f.Bytes+len(p.Data), f.Forms+p.Form[:1]
			if f.Parts[p.Part], err = applied(f.Parts[p.Part], p.Form, p.Data); err != nil {
				t.Fatalf("%s of %s: %v", p.Form, key, err)
			}
		}
	}
	return ""
}

// Sum returns the sum of the copy.
func (f *Copy) Sum() string {
	h := sha256.New()
	for _, p := range f.Parts {
		h.Write(p)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// applied returns what news make of the encoding of a part.
func applied(old []byte, form string, data []byte) ([]byte, error) {
	switch {
	case form == news.Whole:
		return codec.Decompress(nil, data)
	case form == news.Dump:
		return data, nil
	case !bytes.HasPrefix(old, []byte(envelope.Magic)):
		return appliedToDump(old, form, data)
	}
	if form == news.Bits {
		h, err := envelope.ParseHeader(old)
		if err != nil {
			return nil, err
		}
		out := bytes.Clone(old[:envelope.HeaderSize+h.Payload])
		err = news.EachBit(data, 8*h.Payload, func(at uint64) { out[envelope.HeaderSize+at/8] |= 1 << (at % 8) })
		return envelope.Seal(out, 0, h), err
	}
	f, err := codec.Open(old)
	if err != nil {
		return nil, err
	}
	err = news.EachStep(data, func(s news.Step, v uint64) error {
		switch s {
		case news.Delete:
			f.(bloomery.Deleter).DeleteHash(v)
		case news.Advance:
			f.(*compose.Window).Advance(v)
		case news.Add:
			if a, ok := f.(bloomery.Adder); ok {
				a.AddHash(v)
				return nil
			}
			return f.(bloomery.Inserter).InsertHash(v)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	_, err = f.(io.WriterTo).WriteTo(&b)
	return b.Bytes(), err
}

// appliedToDump is applied for a BF or CF.
func appliedToDump(old []byte, form string, data []byte) ([]byte, error) {
	v, err := redisbloom.OpenPayload(old)
	if err != nil {
		return nil, err
	}
	if form == news.Added {
		b := v.(*redisbloom.Bloom)
		n, err := news.EachAdded(data, b.NewestBits(), b.SetBit)
		b.CountAdded(n)
		return b.Payload(), err
	}
	c := v.(*redisbloom.Cuckoo)
	err = news.EachStep(data, func(s news.Step, h uint64) error {
		if s == news.Add {
			return c.InsertDigest(h)
		}
		c.DeleteDigestsLazily(make([]bool, 1), []uint64{h}, 0)
		return nil
	})
	return c.Payload(), err
}
