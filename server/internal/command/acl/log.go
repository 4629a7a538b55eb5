package acl

import (
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/engine"
)

func runLog(x *engine.Context, c *engine.Call) {
	count := int64(10)
	if len(c.Args) == 3 {
		if answer.Is(c.Args[2], "reset") {
			x.Users().Log.Reset()
			c.Answer(answer.OK())
			return
		}
		var ok bool
		if count, ok = answer.ParseInt(c.Args[2]); !ok {
			c.Fail(answer.TextInteger)
			return
		}
	}
	rows := []answer.Reply{}
	for _, e := range x.Users().Log.Latest(count) {
		rows = append(rows, answer.Pairs(
			answer.Text("count"), answer.Integer(e.Count),
			answer.Text("reason"), answer.Text(string(e.Reason)),
			answer.Text("context"), answer.Text(e.Context),
			answer.Text("object"), answer.Text(e.Object),
			answer.Text("username"), answer.Text(e.Username),
			answer.Text("age-seconds"), answer.Float(x.Now().Sub(e.Updated).Seconds()),
			answer.Text("client-info"), answer.Text(e.Client),
			answer.Text("entry-id"), answer.Integer(e.ID),
			answer.Text("timestamp-created"), answer.Integer(e.Created.UnixMilli()),
			answer.Text("timestamp-last-updated"), answer.Integer(e.Updated.UnixMilli()),
		))
	}
	c.Answer(answer.List(rows...))
}
