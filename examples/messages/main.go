// Command messages drops duplicate messages and loses none, and finds the senders of a campaign
// by what their filters have in common, without keeping what they sent.
//
//	go run ./examples/messages
package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/bloomery/bloomery/bloom"
	"github.com/bloomery/bloomery/compose"
	"github.com/bloomery/bloomery/examples/internal/demo"
)

func main() { demo.Main(run) }

const (
	seenRate   = 0.001 // of new messages for which the store is asked
	senderRate = 0.01
	alike      = 0.1 // share of common texts above which two senders are compared by people
)

// traffic is how much is sent.
type traffic struct {
	senders, each int // each sends so many messages
	ring, texts   int // of whom so many send the texts of a campaign beside their own
}

var (
	sample = traffic{senders: 200, each: 500, ring: 8, texts: 200}
	full   = traffic{senders: 1000, each: 5000, ring: 20, texts: 2000}
)

type message struct {
	id     string
	sender int
	text   string
}

// deliver hands every message on once. A message that the filter has is looked up in the store:
// without that a false positive would lose it.
type deliver struct {
	seen          *compose.Layers
	store         map[string]bool
	sent, dropped int
	lookups       int // of the store
}

func newDeliver(capacity int) (*deliver, error) {
	f, err := bloom.Config{Capacity: capacity, ErrorRate: seenRate}.New()
	if err != nil {
		return nil, err
	}
	d := &deliver{store: map[string]bool{}}
	d.seen, err = compose.NewLayers(func(id []byte) bool {
		d.lookups++
		return d.store[string(id)]
	}, f)
	return d, err
}

func (d *deliver) message(m message) error {
	if d.seen.ContainsString(m.id) {
		d.dropped++
		return nil
	}
	d.sent++
	d.store[m.id] = true
	return d.seen.InsertString(m.id)
}

type figures struct {
	traffic
	messages, repeated       int // and how many came twice
	sent, dropped, lookups   int
	missed, lost             int // duplicates that were sent again, new ones that were dropped
	seenBytes, senderBytes   int
	pairs, ringFound, others int
	textsFound, wrongText    int
}

func run(ctx context.Context, o demo.Options) (figures, error) {
	t := demo.Pick(o, sample, full)
	f := figures{traffic: t}
	rng := rand.New(rand.NewPCG(5, 6))
	stream := t.stream(rng)
	d, err := newDeliver(t.senders * t.each)
	if err != nil {
		return figures{}, err
	}
	senders := make([]*bloom.Filter, t.senders)
	for i := range senders {
		senders[i] = bloom.New(t.each, senderRate)
	}
	sent := map[string]bool{} // to count mistakes
	for _, m := range stream {
		before := d.sent
		if err := d.message(m); err != nil {
			return figures{}, err
		}
		f.messages++
		switch fresh := !sent[m.id]; {
		case !fresh && d.sent > before:
			f.missed++
		case fresh && d.sent == before:
			f.lost++
		case !fresh:
			f.repeated++
		}
		sent[m.id] = true
		senders[m.sender].AddString(m.text)
	}
	f.sent, f.dropped, f.lookups, f.seenBytes = d.sent, d.dropped, d.lookups, int(d.seen.Stats().Bytes)
	f.senderBytes = t.senders * int(senders[0].Stats().Bytes)
	err = f.campaign(senders, stream)
	return f, err
}

// stream returns the messages in the order in which they come; one of five is sent once more,
// as happens when an acknowledgement is lost. The first senders are the ring.
func (t traffic) stream(rng *rand.Rand) []message {
	var all []message
	for sender := range t.senders {
		for i := range t.each {
			m := message{fmt.Sprintf("%d/%d", sender, i), sender, fmt.Sprintf("text %d of %d", i, sender)}
			if sender < t.ring && i < t.texts {
				m.text = fmt.Sprintf("buy now, offer %d", i)
			}
			all = append(all, m)
			if rng.IntN(5) == 0 {
				all = append(all, m)
			}
		}
	}
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// campaign compares the filters of all senders with each other. What the senders that are alike
// have in common is their intersection, in which the texts of new messages are looked up.
func (f *figures) campaign(senders []*bloom.Filter, stream []message) error {
	var ring []int
	for i, a := range senders {
		for j, b := range senders[:i] {
			share, err := a.Jaccard(b)
			if err != nil {
				return err
			}
			f.pairs++
			if share > alike {
				ring = append(ring, i, j)
			}
		}
	}
	slices.Sort(ring)
	ring = slices.Compact(ring)
	if len(ring) == 0 {
		return nil
	}
	common := senders[ring[0]].Clone()
	for _, sender := range ring {
		if sender < f.ring {
			f.ringFound++
		} else {
			f.others++
		}
		if err := common.Intersect(senders[sender]); err != nil {
			return err
		}
	}
	asked := map[string]bool{}
	for _, m := range stream {
		if asked[m.text] {
			continue
		}
		asked[m.text] = true
		switch found, campaign := common.ContainsString(m.text), m.text[0] == 'b'; {
		case campaign && found:
			f.textsFound++
		case found:
			f.wrongText++
		}
	}
	return nil
}

func (f figures) Table() demo.Table {
	var t demo.Table
	t.Count("messages", f.messages)
	t.Count("duplicates among them", f.repeated)
	t.Count("duplicates missed", f.missed)
	t.Count("new messages lost", f.lost)
	t.Count("looked up in the store", f.lookups)
	t.Percent("false positive rate asked", seenRate)
	t.Percent("measured", float64(f.lookups-f.repeated)/float64(f.sent))
	t.Number("bytes a message", float64(f.seenBytes)/float64(f.sent), 2)
	t.Count("senders", f.senders)
	t.Bytes("filters of what they sent", f.senderBytes)
	t.Count("pairs of senders compared", f.pairs)
	t.Text("senders of the campaign found", demo.Count(f.ringFound)+" of "+demo.Count(f.ring))
	t.Count("others accused", f.others)
	t.Text("texts of the campaign found", demo.Count(f.textsFound)+" of "+demo.Count(f.texts))
	t.Count("other texts taken for it", f.wrongText)
	return t
}
