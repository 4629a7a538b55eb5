// The command plan: its flags, and how its figures are read.

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bloomery/bloomery/internal/question"
	"github.com/bloomery/bloomery/sizing"
)

// planOptions are the flags of plan.
type planOptions struct {
	keys      number[uint64]
	headroom  number[int]
	rate      number[float64]
	needs     []string
	keyBytes  int
	fpCost    float64
	absent    number[float64]
	memory    number[int64]
	sets      int
	valueBits int
	reports   number[uint64]
	plot      bool
	queries   number[uint64]

	anonymity float64
	universe  number[uint64]
	given     func(flag string) bool
}

func newPlan() *cobra.Command {
	o := &planOptions{keys: countFlag(), headroom: headroomFlag(), rate: rateFlag(""), absent: rateFlag(""), memory: sizeFlag(""), queries: newNumber("N/s", "", atLeastOne(parseQueries)),
		universe: countFlag(), reports: countFlag()}
	cmd := &cobra.Command{
		Use:     "plan n=KEYS p=RATE m=SIZE k=HASHES bits=PER-KEY",
		Aliases: []string{"calc"},
		Short:   "Show how large a filter must be, and which kind to use",
		Long: `plan solves for what you leave out: give two of n (different keys), p (false
positive rate) and m (size: a number of bits, or bytes as in 64KiB). -n and -p
mean the same as n= and p=. Give k (bits set by a key) only to force one; plan
names the best. bits= is the number of bits per key instead of m; with bits=10
or k=7 alone, plan assumes a million keys, on which the rate does not depend.

The first line is the kind to use, the second the textbook's figures. The table
has the size at which each kind worth considering keeps the rate, and exact sets
of the same keys for comparison. With m, no kind takes more than m: the table
shows the rate of each kind in that size or, if p is given too, how many keys it
holds. With k, the kinds that let k be chosen have it.

--queries N/s compares a filter in front of a disk or another machine with no
filter, and with an exact set in memory. The last line is the verdict (overkill,
fits or essential), the work that the filter saves, in cores, and the memory. By
default a query that passes the filter costs 1,000 lookups (--fp-cost), and half
of the queries are for absent keys (--absent).

--anonymity K, with --universe N and n=, replaces p. It is for a filter that is
published: whoever tries all N possible keys finds K times as many as are in the
filter, so each real key hides among K.

--needs lists what the set must be able to do, or what is true of it:
` + strings.Join(question.Needs(), ", ") + `.`,
		Example: `  bloomery plan n=1e6 p=0.1%
  bloomery plan -n 1e6 -p 0.1%
  bloomery plan m=64KiB n=1e5
  bloomery plan n=10M p=1in1000 --needs growth
  bloomery plan n=1e6 p=1% --plot
  bloomery plan bits=10
  bloomery plan n=1e8 p=1% --queries 50k/s
  bloomery plan --anonymity 20 --universe 1e8 n=100`,
		Args: between(0, 4, "two of n=, p= and m= or bits=, and k= if you like"),
	}
	newShell(cmd, func(_ context.Context, s *shell, args []string) error { return o.run(s, args) })
	f := cmd.Flags()
	o.given = f.Changed
	f.VarP(&o.keys, "keys", "n", "different keys, as n=: 1e6, 10M")
	f.Var(&o.headroom, "headroom", "capacity for so many percent more keys than n, 0 to 1000: 50, 50%")
	f.VarP(&o.rate, "rate", "p", "false positive rate, as p=: 0.01, 0.1%, 1in1000")
	f.StringSliceVar(&o.needs, "needs", nil, "what the set must be able to do, a `LIST` separated by commas")
	f.IntVar(&o.keyBytes, "key-bytes", 0, "mean length of a key in `BYTES`, for exact sets; 0 is 16")
	amountVar(f, &o.fpCost, "fp-cost", "cost `C` of a false positive, in lookups of a filter: 1000 is a read from an SSD")
	f.Var(&o.absent, "absent", "share of queries for absent keys: 0.9, 90%")
	f.Var(&o.memory, "max-memory", "memory that the filter may take")
	intVar(f, &o.sets, "sets", "", 1, "number `N` of sets of this size that are asked for the same key")
	f.Var(&o.queries, "queries", "queries per second, to show what the filter saves: 50k/s")
	amountVar(f, &o.anonymity, "anonymity", "choose the rate so that each key of a published filter hides among `K`; needs --universe")
	f.Var(&o.universe, "universe", "number of possible keys, for --anonymity, or of all that are asked for, with --needs immutable: 1e8")
	f.IntVar(&o.valueBits, "value-bits", 0, "`BITS` of a value that each key has, with --needs immutable")
	f.Var(&o.reports, "reports", "number of false positives that are reported and not repeated, see bloomery correct: 1e5")
	f.BoolVar(&o.plot, "plot", false, "draw the false positive rate as keys are added")
	completeList(cmd, "needs", question.Needs()...)
	cmd.ValidArgsFunction = cobra.FixedCompletions([]string{"n=", "p=", "m=", "k=", "bits="}, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace)
	return cmd
}

func (o *planOptions) run(s *shell, args []string) error {
	if o.keys.text != "" {
		args = append(args, "n="+o.keys.text)
	}
	if o.rate.text != "" {
		args = append(args, "p="+o.rate.text)
	}
	if len(args) == 0 && len(o.needs) == 0 {
		return solveHint(errors.New("nothing to plan: give n, two of n, p and m, or --needs"))
	}
	q, assumed, err := parseParams(args)
	if err != nil {
		return err
	}
	if q.P, err = o.hidden(q); err != nil {
		return err
	}
	keys := q.N
	if q.N, err = o.withHeadroom(keys); err != nil {
		return err
	}
	solved := q
	if known(q) >= 2 {
		if solved, err = sizing.Solve(q); err != nil {
			return solveHint(misfit(q, err))
		}
		if solved.P >= 1 {
			return solveHint(misfit(q, fmt.Errorf("the false positive rate would be %s", rateText(solved.P))))
		}
	} else if q.M != 0 || q.K != 0 {
		return solveHint(errors.New("under-determined: give two of n, p and m"))
	}
	needs, err := o.sizingNeeds(solved)
	if err != nil {
		return err
	}
	if keys != 0 {
		needs.Keys, needs.Capacity = keys, q.N
	}
	advice, err := question.Advise(needs, q, solved)
	if err != nil {
		return about("", err)
	}
	p := planned{asked: q, solved: solved, needs: needs, advice: advice, assumed: assumed}
	if o.anonymity > 0 {
		p.publish(o.universe.value)
	}
	if o.queries.value > 0 {
		worth, err := p.worth(o.queries.value)
		if err != nil {
			return err
		}
		p.queries = &worth
	}
	if s.asJSON {
		return s.print(p.json())
	}
	width := s.textWidth()
	text := p.text(s, width)
	if o.plot {
		drawn, err := p.plot(width)
		if err != nil {
			return err
		}
		text += "\n" + drawn
	}
	if p.queries != nil {
		text += p.queries.text(width)
	}
	_, err = fmt.Fprint(s.out, s.shown(text))
	return err
}

// withHeadroom returns how many keys to plan for if so many are expected.
func (o *planOptions) withHeadroom(keys uint64) (uint64, error) {
	if o.headroom.value > 0 && keys == 0 {
		return 0, errors.New("--headroom needs the number of keys: n=")
	}
	n, err := sizing.WithHeadroom(keys, o.headroom.value)
	return n, about("", err)
}

// sizingNeeds are the needs that flags and figures describe.
func (o *planOptions) sizingNeeds(q sizing.Params) (sizing.Needs, error) {
	n := sizing.Needs{
		Keys: q.N, ErrorRate: q.P, KeyBytes: o.keyBytes, FalsePositiveCost: o.fpCost,
		Absent: o.absent.value, Memory: uint64(o.memory.value), Sets: o.sets, ValueBits: o.valueBits, Reports: o.reports.value,
	}
	if o.anonymity == 0 {
		n.Universe = o.universe.value
	}
	for _, need := range o.needs {
		if !question.Need(&n, strings.TrimSpace(need)) {
			return n, hinted{fmt.Errorf("--needs: unknown need %q", need), "one of " + strings.Join(question.Needs(), ", ")}
		}
	}
	return n, nil
}

// usualRate is the rate that is taken where none is given.
const usualRate = 0.01

// parseParams reads arguments of the form n=1e6. It reports whether it assumed
// the number of keys.
func parseParams(args []string) (q sizing.Params, assumed bool, err error) {
	f, err := parseFigures(args)
	switch {
	case err != nil:
		return q, false, err
	case f.PerKey > 0 && (f.M != 0 || f.P != 0):
		return q, false, errors.New("bits= stands for m= beside n=, and excludes m= and p=")
	case f.PerKey > 0:
		if assumed, err = f.SpreadPerKey(); err != nil {
			err = fmt.Errorf("bits=: %w", err)
		}
	case f.K != 0 && known(f.Params) == 0:
		if err = f.RateOfHashes(); err != nil {
			err = fmt.Errorf("k=: %w", err)
		}
		f.N, assumed = question.AssumedKeys, true
	}
	return f.Params, assumed, err
}

// parseFigures reads the arguments as they are.
func parseFigures(args []string) (f question.Figures, err error) {
	seen := map[string]bool{}
	for _, arg := range args {
		name, value, ok := strings.Cut(arg, "=")
		name = strings.ToLower(strings.TrimSpace(name))
		if !ok || !slices.Contains(question.Names(), name) {
			return f, hinted{fmt.Errorf("%q is not n=, p=, m=, k= or bits=", arg), "as in: bloomery plan n=1e6 p=0.1%"}
		}
		if seen[name] {
			return f, fmt.Errorf("%s= is given twice", name)
		}
		seen[name] = true
		if err := f.Set(name, value); err != nil {
			return f, fmt.Errorf("%s=: %w", name, err)
		}
	}
	return f, nil
}

// known counts which of n, p and m are given.
func known(q sizing.Params) int {
	n := 0
	for _, is := range []bool{q.N != 0, q.P != 0, q.M != 0} {
		if is {
			n++
		}
	}
	return n
}

// misfit explains why so many keys and a size have no rate: err is the error of
// mathematics.
func misfit(q sizing.Params, err error) error {
	if q.N == 0 || q.M == 0 || q.P != 0 {
		return err
	}
	enough, failed := sizing.Blocked.Size(q.N, usualRate)
	if failed != nil || q.M >= q.N {
		return err
	}
	return fmt.Errorf("too small: in %s for %s almost every key would be a false positive; %s keep %s",
		bytesText((q.M+7)/8), plural(q.N, "key"), bytesText(enough.Bits/8), rateText(usualRate))
}

func solveHint(err error) error {
	return hinted{about("", err), "as in: bloomery plan n=1e6 p=0.1%, or bloomery plan m=64KiB n=1e5"}
}
