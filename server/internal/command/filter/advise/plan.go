// Package advise is FILTER.PLAN and FILTER.KINDS: which kinds of filters there are, and which of
// them to take.
package advise

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bloomery/bloomery/internal/question"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/blueprint"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/traits"
	"github.com/bloomery/bloomery/sizing"
)

// Plan is FILTER.PLAN keys error-rate [NEEDS need [need ...]].
var Plan = engine.Command{
	Name: "filter.plan", Arity: -3, Flags: traits.ReadOnly, Categories: []string{"read", "filter", "slow"},
	Group: traits.GroupFilter, Since: "0.1.0", Syntax: "keys error-rate [NEEDS need [need ...]]", Complexity: "O(1)",
	Summary: "Ranks the kinds of filters for a number of keys and a false positive rate. A need is growth, deletes, counts, expiry, immutable, parquet or adversary.",
	Cost:    func(x *engine.Costs, _ *engine.Call) { x.Slow(); x.Slow() },
	Run:     runPlan,
}

func parsePlan(args [][]byte) (n sizing.Needs, text string) {
	if text = blueprint.Number(args[1], &n.Keys, 1, math.MaxInt64, "keys"); text != "" {
		return n, text
	}
	if text = blueprint.Rate(args[2], &n.ErrorRate, "error-rate"); text != "" || len(args) == 3 {
		return n, text
	}
	if !answer.Is(args[3], "needs") || len(args) == 4 {
		return n, answer.TextSyntax
	}
	for _, word := range args[4:] {
		if answer.Is(word, "writers") || !question.Need(&n, strings.ToLower(string(word))) { // a server has one way to write
			return n, "ERR NEEDS takes adversary, counts, deletes, expiry, growth, immutable and parquet"
		}
	}
	return n, ""
}

func runPlan(_ *engine.Context, c *engine.Call) {
	n, text := parsePlan(c.Args)
	if text != "" {
		c.Fail(text)
		return
	}
	a, err := sizing.Advise(n)
	if err != nil {
		c.Fail("ERR " + answer.OneLine(err))
		return
	}
	a.Kinds, a.Others = served(a.Kinds), served(a.Others)
	c.Answer(answer.Pairs(
		answer.Text("take"), answer.Text(a.Take()),
		answer.Text("error_rate"), answer.Float(a.ErrorRate),
		answer.Text("kinds"), choices(slices.Concat(a.Kinds, a.Others)),
		answer.Text("exact"), choices(a.Exact),
		answer.Text("warnings"), warnings(a.Warnings),
	))
}

// served returns the choices that the server has, under the names of FILTER.KINDS.
// Package sizing also ranks types for many goroutines, which the server does not need.
func served(list []sizing.Choice) []sizing.Choice {
	var kept []sizing.Choice
	for _, v := range list {
		if v.Name == "fuse" {
			if size, err := sizing.FuseSize(0, v.ErrorRate, 3); err == nil {
				v.Name += strconv.Itoa(size.Width)
			}
		}
		if _, text := blueprint.KindNamed(v.Name, true); text == "" {
			kept = append(kept, v)
		}
	}
	return kept
}

func choices(list []sizing.Choice) answer.Reply {
	rows := make([]answer.Reply, len(list))
	for i, v := range list {
		rows[i] = answer.Pairs(
			answer.Text("kind"), answer.Text(v.Name),
			answer.Text("bytes"), answer.Integer(int64(min(v.Bytes, math.MaxInt64))),
			answer.Text("bits_per_key"), answer.Float(v.BitsPerKey),
			answer.Text("error_rate"), answer.Float(v.ErrorRate),
			answer.Text("lookup"), answer.Integer(int64(v.Lookup)),
			answer.Text("insert"), answer.Integer(int64(v.Insert)),
			answer.Text("reasons"), answer.Texts(v.Reasons),
		)
	}
	return answer.List(rows...)
}

func warnings(list []sizing.Warning) answer.Reply {
	rows := make([]string, len(list))
	for i, w := range list {
		rows[i] = w.String()
	}
	return answer.Texts(rows)
}
