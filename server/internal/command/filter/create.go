package filter

import (
	"errors"
	"strconv"

	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/blueprint"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/effort"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/filters"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// create is FILTER.CREATE. What is long about it, to find sizes, is done outside
// the gate; the record holds the outline of a part.
var create = engine.Command{
	Name: "filter.create", Arity: -3, Flags: traits.Write | traits.DenyOOM | traits.Movable | traits.Derived | traits.Apart,
	Keys:       traits.Keys{traits.KeyAt(1, traits.KeyNew), {At: likeKey, Access: traits.KeyRO}},
	Categories: []string{"write", "filter", "slow"}, Group: traits.GroupFilter, Since: "0.1.0",
	Syntax: "key kind [CAPACITY n] [ERROR rate] [BITS per-key] [HEADROOM percent] [SEED n | RANDOM] [LIKE source] [KEYED id] " +
		"[PARTS n] [SPAN time] [GENERATIONS n] [BURST n] [MEMBERS n] [NEED n] [SLA microseconds] [BUDGET bytes] [REPLICAS n | ALL] [NEWS changes] [NX] [OVER filter [filter ...]]",
	Complexity: "O(n), n being the number of parts",
	Summary:    "Creates a filter of a kind. With NX it is no error if there is a filter of that name already. Kind layers holds no items: it asks the filters behind OVER, which come last, one after the other. Numbers may have units: 1M items, 1% or 1in1000, 64MiB, 7d.",
	Cost:       costOfCreate,
	Also:       alsoCreate,
	Before:     beforeCreate, Prepare: prepareCreate, Reply: replyCreate,
}

// likeKey returns where the key behind LIKE is, 0 if there is none. No option that goes
// with LIKE can have that word as its value.
func likeKey(args [][]byte) int {
	if len(args) > 2 && isLayers(args) {
		return 0 // it may be the name of a layer
	}
	for i := 3; i+1 < len(args); i++ {
		if answer.Is(args[i], "like") {
			return i + 1
		}
	}
	return 0
}

// creation is a filter that is about to be made.
type creation struct {
	record store.Make
	nx     bool
}

// kind returns the kind of the entry.
func (v *creation) kind() catalog.Kind {
	if v.record.As == store.OpLayers {
		return catalog.Layers
	}
	return catalog.Filter
}

func beforeCreate(x *engine.Context, c *engine.Call) {
	if isLayers(c.Args) {
		if v, text := layersOf(x, c); text != "" {
			c.Fail(text)
		} else {
			c.Option = v
		}
		return
	}
	kind, text := blueprint.KindNamed(string(c.Args[2]), false)
	var o *blueprint.Options
	if text == "" {
		o, text = blueprint.Parse(kind.Name, c.Args[3:])
	}
	if text == "" {
		text = resolve(x, c, o)
	}
	if text != "" {
		c.Fail(text)
	}
	if c.Answered() {
		return
	}
	if o.Given["like"] && x.Transaction().Queued() {
		return // the other may be made by the same transaction: prepareCreate looks
	}
	v := &creation{nx: o.NX, record: store.Make{As: store.OpFilter, Name: c.Args[1]}}
	if o.Given["like"] {
		v.record.Header, text = like(x, c, o)
	} else {
		v.record.Header, text = valueOf(x, o)
	}
	if text != "" {
		c.Fail(text)
	}
	if !c.Answered() {
		c.Option = v
	}
}

// resolve finds the hasher. It answers if the filter may not have its key.
func resolve(x *engine.Context, c *engine.Call, o *blueprint.Options) string {
	if o.Given["replicas"] && !x.Can().Cluster {
		return "ERR REPLICAS is for a server of a cluster, and this one stands alone (serve --cluster)"
	}
	o.Level, o.Spread = x.Contents().Level(), x.Contents().Roster().Spread()
	if nodes := x.Contents().Roster().Nodes(); o.Given["replicas"] && o.Replicas < nodes {
		return "ERR REPLICAS " + strconv.FormatUint(o.Replicas, 10) + " is less than the " + strconv.FormatUint(nodes, 10) +
			" nodes of the cluster, and how many of them hold a filter is one number for all filters (bloomery cluster copies): leave it out, or give REPLICAS ALL"
	}
	if o.Given["news"] && o.Level < store.LevelNews {
		return answer.NeedsUpgrade("NEWS")
	}
	o.Hasher = hashing.Seeded(o.Seed)
	if !o.Given["keyed"] {
		return ""
	}
	h, text := x.Names().Secret(c, "KEYED", o.Keyed)
	o.Hasher = h
	return text
}

// valueOf returns the Value of the record that makes the filter, or the error text.
func valueOf(x *engine.Context, o *blueprint.Options) ([]byte, string) {
	defer o.Within(x.Hold, x.Unhold)()
	p := contents.Plan{SLA: o.SLA, Budget: o.Budget, KeyID: o.Keyed, Replicas: uint8(o.Replicas), News: o.News}
	outline, err := o.Empty(&p, x.Milliseconds())
	if errors.Is(err, blueprint.ErrMemory) {
		return nil, "OOM FILTER.CREATE needs more than " + strconv.Itoa(o.Wanted()) + " bytes, 'maxmemory' leaves " + strconv.FormatUint(x.Budget().Left(), 10)
	}
	if err != nil {
		return nil, "ERR " + o.Kind + ": " + filters.Cause(err)
	}
	return contents.AppendCreation(nil, &p, outline), ""
}

func prepareCreate(x *engine.Context, c *engine.Call) *engine.Op {
	v, ok := c.Option.(*creation)
	if !ok { // LIKE inside a transaction
		if beforeCreate(x, c); c.Answered() {
			return nil
		}
		v = c.Option.(*creation)
	}
	if entry := x.Names().Lookup(c.Args[1]); entry != nil {
		switch {
		case entry.Kind != v.kind():
			c.Fail(answer.TextWrongType)
		case v.nx:
			c.Answer(answer.Flag(false))
		default:
			c.Fail(answer.TextItemExists)
		}
		return nil
	}
	op, ok := x.Contents().Creation(&v.record)
	if !ok {
		c.Fail(answer.TextNoMemory)
		return nil
	}
	op.NoMemory = "OOM FILTER.CREATE needs " + strconv.FormatUint(op.Cost, 10) + " bytes, 'maxmemory' leaves " + strconv.FormatUint(x.Budget().Left(), 10)
	return op
}

// replyCreate answers OK, and with NX 1.
func replyCreate(c *engine.Call, res *store.Result) {
	v := c.Option.(*creation)
	switch {
	case res.Err == nil && v.nx:
		c.Answer(answer.Flag(true))
	case res.Err == nil:
		c.Answer(answer.OK())
	case errors.Is(res.Err, store.ErrExists): // prepared again, it finds the key
	default:
		c.Fail(filters.Failure(res.Err))
	}
}

// like returns the Value of the record that makes an empty filter of the shape of
// another, or the error text. It answers if the filter may not have the key of the other.
func like(x *engine.Context, c *engine.Call, o *blueprint.Options) ([]byte, string) {
	var entry *catalog.Entry
	x.Look(func() { entry = x.Names().Lookup(o.Like) })
	switch {
	case entry == nil:
		return nil, "ERR LIKE: not found"
	case entry.Kind != catalog.Filter:
		return nil, answer.TextWrongType
	}
	p := contents.PartOf(entry)
	if h, ok := p.Hasher(); !ok {
		return nil, filters.MissingKey(p.Plan())
	} else if !x.Names().MayHash(c, c.Args[1], h) {
		return nil, ""
	}
	if row := p.Row(); row.Name != o.Kind {
		return nil, "ERR LIKE: the other filter is of kind " + row.Name + ", not " + o.Kind
	}
	borrowed, giveBack, failed := x.Contents().Borrow(entry, 0)
	if failed.Kind != answer.None {
		return nil, failed.Text
	}
	defer giveBack()
	outline, err := blankOf(borrowed)
	if err != nil {
		return nil, "ERR LIKE: " + answer.OneLine(err)
	}
	plan := *p.Plan()
	plan.Version = 0
	if o.Given["sla"] {
		plan.SLA = o.SLA
	}
	if o.Given["budget"] {
		plan.Budget = o.Budget
	}
	if o.Given["replicas"] {
		plan.Replicas = uint8(o.Replicas)
	}
	if o.Given["news"] {
		plan.News = o.News
	}
	header := contents.AppendCreation(nil, &plan, outline)
	// What lies at other nodes is counted as the new filter will be.
	n := max(contents.SizeOf(entry, effort.Adding{}).Arrays, store.NewSize(&store.Make{As: store.OpFilter, Name: c.Args[1], Header: header}, effort.Adding{}).Arrays)
	if o.Kind == "quorum" && n > contents.MaxMade {
		return nil, "ERR LIKE: the parts of the other filter have " + strconv.FormatUint(n, 10) + " members, and there may be " + strconv.Itoa(contents.MaxMade) + " at most"
	}
	return header, ""
}

// costOfCreate counts what Before has planned, or a filter like the source.
func costOfCreate(x *engine.Costs, c *engine.Call) {
	if v, ok := c.Option.(*creation); ok {
		x.Make(c.Args[1], &v.record)
	}
	if i := likeKey(c.Args); i > 0 {
		x.Same(c.Args[i], c.Args[1])
		x.Whole(c.Args[i], 2)
	}
}
