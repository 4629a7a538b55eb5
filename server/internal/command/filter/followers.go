package filter

// FILTER.FOLLOWERS: who asks for news of a filter.

import (
	"strconv"

	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/following"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// followersCmd is FILTER.FOLLOWERS key.
var followersCmd = engine.Command{
	Name: "filter.followers", Arity: 2, Flags: traits.ReadOnly | traits.Outside, Keys: traits.OneKey(traits.KeyRO),
	Categories: []string{"read", "filter", "slow"}, Group: traits.GroupFilter, Since: "0.1.0",
	Syntax: "key", Complexity: "O(n), n being the number of followers",
	Summary: "Returns who has asked this node for news of a filter by name (FILTER.NEWS with NAME), the last 64 of them: the version and the age of its copy in seconds, if it gave them, " +
		"and how many seconds ago it asked.",
	Cost:     engine.ByKeys((*engine.Costs).Look),
	Assemble: assembleFollowers,
	Run:      runFollowers,
}

func runFollowers(x *engine.Context, c *engine.Call) {
	entry := findAny(x, c)
	if entry == nil {
		return
	}
	rows := []answer.Reply{}
	for _, f := range x.Contents().Followers(entry) {
		fields := []field{{"name", f.Name}}
		if f.Version >= 0 {
			fields = append(fields, field{"version", f.Version})
		}
		if f.Age >= 0 {
			fields = append(fields, field{"age", f.Age / 1000})
		}
		rows = append(rows, asMap(append(fields, field{"asked", max(0, x.Milliseconds()-f.Asked) / 1000})))
	}
	c.Answer(answer.List(rows...))
}

// assembleFollowers returns those of all nodes that hold parts of the filter.
func assembleFollowers(_ *engine.Context, _ *engine.Call, parts []answer.Reply) answer.Reply {
	rows := []answer.Reply{}
	for i := range parts {
		rows = append(rows, parts[i].Elems...)
	}
	return answer.List(rows...)
}

// followerName reads the name of a follower. It returns the error text, or "".
func followerName(arg []byte, to *string) string {
	plain := len(arg) > 0 && len(arg) <= following.MaxFollowerName
	for _, b := range arg {
		plain = plain && b > ' ' && b < 0x7f
	}
	if !plain {
		return "ERR NAME must be 1 to " + strconv.Itoa(following.MaxFollowerName) + " letters, digits and signs, without blanks"
	}
	*to = string(arg)
	return ""
}
