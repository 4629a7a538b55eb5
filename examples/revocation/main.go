// Command revocation tells revoked certificates from valid ones without an error and without
// asking anybody: all certificates are known to those who build the filter, so that it can be
// exact. A client downloads it once and then a patch each day.
//
//	go run ./examples/revocation
package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/bloomery/bloomery/exact"
	"github.com/bloomery/bloomery/examples/internal/demo"
	"github.com/bloomery/bloomery/hashing"
)

func main() { demo.Main(run) }

// world is how many certificates there are.
type world struct {
	certificates, issuers int
	revoked               float64 // share of them at the beginning
	days                  int
	issued, withdrawn     int // a day
}

var (
	sample = world{certificates: 250_000, issuers: 20, revoked: 0.02, days: 4, issued: 5_000, withdrawn: 500}
	full   = world{certificates: 10_000_000, issuers: 500, revoked: 0.01, days: 7, issued: 200_000, withdrawn: 3_000}
)

// certificate is what a client sees of one, and what became of it.
type certificate struct {
	hash    uint64 // of issuer and serial number together
	day     int    // it was issued on, 0 for all before
	revoked int    // the day on which it was revoked, or valid
}

const valid = -1

// client is a browser: the filter of the first day, and a patch for each day since.
type client []*exact.Filter

// revoked reports whether a certificate is revoked. A filter is exact for the certificates that
// there were when it was built, and is not asked for younger ones.
func (c client) revoked(cert *certificate) bool {
	for _, f := range c[cert.day:] {
		if f.ContainsHash(cert.hash) {
			return true
		}
	}
	return false
}

// download takes a filter as bytes, and returns how many they are.
func (c *client) download(f *exact.Filter) (int, error) {
	data, err := f.MarshalBinary()
	if err != nil {
		return 0, err
	}
	copied, err := exact.Config{}.Decode(data)
	*c = append(*c, copied)
	return len(data), err
}

type figures struct {
	certificates, revoked int // at the end
	firstRevoked          int // on day 0
	base, baseBound       int // bytes of the filter of day 0, and the fewest that any such filter has
	days                  int
	patches, patchBound   int // bytes of all patches together, and the fewest
	answers, errors       int // one for each certificate and day
	list                  int // bytes of the revoked serial numbers of day 0
}

func run(ctx context.Context, o demo.Options) (figures, error) {
	w := demo.Pick(o, sample, full)
	rng := rand.New(rand.NewPCG(7, 8))
	certs := w.issue(rng, nil, w.certificates, 0)
	first := int(w.revoked * float64(w.certificates))
	withdraw(rng, certs, first, 0)
	f := figures{firstRevoked: first, days: w.days, list: first * serialBytes}
	var c client
	for day := range w.days + 1 {
		if day > 0 {
			certs = w.issue(rng, certs, w.issued, day)
			withdraw(rng, certs, w.withdrawn, day)
		}
		in, out := universe(certs, day)
		built, err := exact.Config{}.Build(ctx, in, out)
		if err != nil {
			return figures{}, err
		}
		size, err := c.download(built)
		if err != nil {
			return figures{}, err
		}
		if day == 0 {
			f.base, f.baseBound = size, bound(len(in), len(out))
		} else {
			f.patches, f.patchBound = f.patches+size, f.patchBound+bound(len(in), len(out))
		}
		f.check(&c, certs)
	}
	f.certificates, f.revoked = len(certs), first+w.days*w.withdrawn
	return f, nil
}

const serialBytes = 16

// issue appends new certificates. A few issuers give out most of them.
func (w world) issue(rng *rand.Rand, certs []certificate, n, day int) []certificate {
	for range n {
		issuer := int(float64(w.issuers) * math.Pow(rng.Float64(), 3))
		key := fmt.Appendf(nil, "%d/", issuer)
		key = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(key, rng.Uint64()), rng.Uint64())
		certs = append(certs, certificate{hash: hashing.Hasher{}.Hash(key), day: day, revoked: valid})
	}
	return certs
}

// withdraw revokes n valid certificates.
func withdraw(rng *rand.Rand, certs []certificate, n, day int) {
	for n > 0 {
		if cert := &certs[rng.IntN(len(certs))]; cert.revoked == valid {
			cert.revoked = day
			n--
		}
	}
}

// universe returns what the filter of a day is built from: what was revoked on that day, and what
// is valid. What was revoked before need not be asked again.
func universe(certs []certificate, day int) (in, out []uint64) {
	for i := range certs {
		switch certs[i].revoked {
		case day:
			in = append(in, certs[i].hash)
		case valid:
			out = append(out, certs[i].hash)
		}
	}
	return in, out
}

// bound returns how many bytes any filter has that tells in from out without an error: log2 of
// how many ways there are to choose so many of all.
func bound(in, out int) int {
	lgamma := func(n int) float64 {
		x, _ := math.Lgamma(float64(n + 1))
		return x
	}
	return int(math.Ceil((lgamma(in+out) - lgamma(in) - lgamma(out)) / math.Ln2 / 8))
}

// check asks a client for every certificate that there is.
func (f *figures) check(c *client, certs []certificate) {
	for i := range certs {
		f.answers++
		if c.revoked(&certs[i]) != (certs[i].revoked != valid) {
			f.errors++
		}
	}
}

func (f figures) Table() demo.Table {
	var t demo.Table
	over := func(got, least int) float64 { return float64(got)/float64(least) - 1 }
	t.Count("certificates", f.certificates)
	t.Count("revoked", f.revoked)
	t.Count("answers compared", f.answers)
	t.Count("errors", f.errors)
	t.Bytes("filter of the first day", f.base)
	t.Number("bits a revoked certificate", 8*float64(f.base)/float64(f.firstRevoked), 2)
	t.Percent("over the bound", over(f.base, f.baseBound))
	t.Bytes("patch of a day", f.patches/f.days)
	t.Percent("patch over the bound", over(f.patches, f.patchBound))
	t.Bytes("a list of serial numbers instead", f.list)
	return t
}
