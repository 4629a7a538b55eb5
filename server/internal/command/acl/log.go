package acl

import "github.com/bloomery/bloomery/server/internal/engine"

func runLog(x *engine.Context, c *engine.Call) {
	count := int64(10)
	if len(c.Args) == 3 {
		if engine.Is(c.Args[2], "reset") {
			x.Users().Log.Reset()
			c.Answer(engine.OK())
			return
		}
		var ok bool
		if count, ok = engine.ParseInt(c.Args[2]); !ok {
			c.Fail(engine.TextInteger)
			return
		}
	}
	rows := []engine.Reply{}
	for _, e := range x.Users().Log.Latest(count) {
		rows = append(rows, engine.Pairs(
			engine.Text("count"), engine.Integer(e.Count),
			engine.Text("reason"), engine.Text(string(e.Reason)),
			engine.Text("context"), engine.Text(e.Context),
			engine.Text("object"), engine.Text(e.Object),
			engine.Text("username"), engine.Text(e.Username),
			engine.Text("age-seconds"), engine.Float(x.Now().Sub(e.Updated).Seconds()),
			engine.Text("client-info"), engine.Text(e.Client),
			engine.Text("entry-id"), engine.Integer(e.ID),
			engine.Text("timestamp-created"), engine.Integer(e.Created.UnixMilli()),
			engine.Text("timestamp-last-updated"), engine.Integer(e.Updated.UnixMilli()),
		))
	}
	c.Answer(engine.List(rows...))
}
