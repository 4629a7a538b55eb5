// Command mail decides by two filters which messages need the thorough check: those of known
// senders are delivered, those of listed domains are refused, and only the rest is looked into.
//
//	go run ./examples/mail
package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/bloomery/bloomery/cuckoo"
	"github.com/bloomery/bloomery/examples/internal/demo"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/ribbon"
)

func main() { demo.Main(run) }

const (
	knownRate  = 0.0001 // of strangers that may be taken for known senders: their mail is not checked
	listedRate = 0.01   // of domains that may be looked up in the list in vain
	share      = 4      // one message in so many is from a listed domain
	strangers  = 7      // and one of the others in so many from a stranger
	colleagues = 3      // known senders at a domain
)

// gate is what a message meets first.
type gate struct {
	known  *cuckoo.Filter      // addresses; people leave, so it can delete
	listed *ribbon.Filter      // domains of spam, made anew with every edition of the list
	list   map[string]struct{} // the list itself, which a real gate has on disk
	reads  int                 // of the list
}

type verdict int

const (
	deliver verdict = iota
	refuse
	check
)

// decide says what is done with a message. A filter alone refuses nothing.
func (g *gate) decide(sender string) verdict {
	_, domain, _ := strings.Cut(sender, "@")
	if g.listed.ContainsString(domain) {
		g.reads++
		if _, sure := g.list[domain]; sure {
			return refuse
		}
	}
	if g.known.ContainsString(sender) {
		return deliver
	}
	return check
}

// figures is what became of the messages.
type figures struct {
	senders, domains, messages int
	verdicts                   [3]int
	missed                     int // messages of known senders or listed domains that got another verdict: none
	strangers, unchecked       int // messages of strangers, and those that were delivered unchecked
	reads, vain                int // of the list
	filters, exactSets         int // bytes
}

func run(ctx context.Context, o demo.Options) (figures, error) {
	f := figures{senders: 5_000, messages: 200_000}
	domains := make([]string, 10_000)
	for i := range domains {
		domains[i] = fmt.Sprintf("win-%d.example", i)
	}
	if o.Full {
		var err error
		if domains, err = demo.MailDomains(ctx); err != nil {
			return figures{}, err
		}
		f.senders, f.messages = 200_000, 5_000_000
	}
	f.domains = len(domains)
	g, err := open(f.senders, domains)
	if err != nil {
		return figures{}, err
	}
	f.filters = int(g.known.Stats().Bytes + g.listed.Stats().Bytes)
	f.exactSets = demo.Heap(func() any {
		all := map[string]struct{}{}
		for i := range f.senders {
			all[contact(i)] = struct{}{}
		}
		for _, d := range domains {
			all[strings.Clone(d)] = struct{}{}
		}
		return all
	})
	rng := rand.New(rand.NewPCG(1, 2))
	for range f.messages {
		if err := ctx.Err(); err != nil {
			return figures{}, err
		}
		f.message(g, domains, rng)
	}
	f.reads, f.vain = g.reads, g.reads-f.verdicts[refuse]
	return f, nil
}

// open makes the filters. The key is fixed so that figures repeat: a real one is random and
// secret, else spammers could look for addresses that the filter takes for known.
func open(senders int, domains []string) (*gate, error) {
	key := hashing.Keyed([16]byte{0: 7, 15: 9})
	known, err := cuckoo.Config{Capacity: senders, ErrorRate: knownRate, Hasher: key}.New()
	if err != nil {
		return nil, err
	}
	for i := range senders {
		if err := known.InsertString(contact(i)); err != nil {
			return nil, err
		}
	}
	g := &gate{known: known, list: map[string]struct{}{}}
	hashes := make([]uint64, len(domains))
	hashing.Hasher{}.HashStrings(hashes, domains)
	for _, d := range domains {
		g.list[d] = struct{}{}
	}
	g.listed, err = ribbon.Build(hashes, listedRate)
	return g, err
}

// message makes a message, and counts what the gate does with it.
func (f *figures) message(g *gate, domains []string, rng *rand.Rand) {
	switch {
	case rng.IntN(share) == 0:
		f.take(g.decide(fmt.Sprintf("offer%d@%s", rng.IntN(1000), domains[rng.IntN(len(domains))])), refuse)
	case rng.IntN(strangers) == 0:
		f.strangers++
		got := g.decide(fmt.Sprintf("somebody%d@host%d.example", rng.IntN(1_000_000), rng.IntN(100_000)))
		f.verdicts[got]++
		if got == deliver {
			f.unchecked++
		}
	default:
		f.take(g.decide(contact(rng.IntN(f.senders))), deliver)
	}
}

func (f *figures) take(got, want verdict) {
	f.verdicts[got]++
	if got != want {
		f.missed++
	}
}

// contact is the address of a known sender; some share a domain.
func contact(i int) string { return fmt.Sprintf("contact%d@office%d.example", i, i/colleagues) }

func (f figures) saved() float64 { return 1 - float64(f.verdicts[check])/float64(f.messages) }

func (f figures) Table() demo.Table {
	var t demo.Table
	t.Count("known senders", f.senders)
	t.Count("listed domains", f.domains)
	t.Count("messages", f.messages)
	t.Count("delivered, known sender", f.verdicts[deliver])
	t.Count("refused, listed domain", f.verdicts[refuse])
	t.Count("checked thoroughly", f.verdicts[check])
	t.Percent("thorough checks saved", f.saved())
	t.Count("known or listed, and not recognised", f.missed)
	t.Count("strangers delivered unchecked", f.unchecked)
	t.Percent("rate asked", knownRate)
	t.Percent("measured", float64(f.unchecked)/float64(f.strangers))
	t.Count("looked up in the list", f.reads)
	t.Count("in vain", f.vain)
	t.Bytes("both filters", f.filters)
	t.Varying("exact sets", demo.Bytes(f.exactSets))
	return t
}
