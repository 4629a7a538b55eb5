// Package rebuild is FILTER.REBUILD: a new filter in the place of one that stays in use.
package rebuild

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/bloomery/bloomery/codec"
	"github.com/bloomery/bloomery/hashing"
	"github.com/bloomery/bloomery/server/internal/answer"
	"github.com/bloomery/bloomery/server/internal/blueprint"
	"github.com/bloomery/bloomery/server/internal/bundle"
	"github.com/bloomery/bloomery/server/internal/catalog"
	"github.com/bloomery/bloomery/server/internal/contents"
	"github.com/bloomery/bloomery/server/internal/engine"
	"github.com/bloomery/bloomery/server/internal/filters"
	"github.com/bloomery/bloomery/server/internal/shadow"
	"github.com/bloomery/bloomery/server/internal/store"
	"github.com/bloomery/bloomery/server/internal/traits"
)

// Command is FILTER.REBUILD key BEGIN | FEED | COMMIT | ABORT | STATUS.
var Command = engine.Command{
	Name: "filter.rebuild", Arity: -3, Flags: traits.Write | traits.Outside | traits.NoMulti | traits.Undivided, Keys: traits.OneKey(traits.KeyRW),
	Categories: []string{"write", "filter", "slow", "delete"}, Group: traits.GroupFilter, Since: "0.1.0",
	Syntax:     "key BEGIN [kind] [CAPACITY n] [ERROR rate] [PARTS n] [NEWKEY id] | FEED item [item ...] | COMMIT [FORCE] | ABORT | STATUS",
	Complexity: "O(n), n being the number of items of FEED, of parts of BEGIN and COMMIT; a COMMIT of a static kind builds it from all items",
	Summary: "Builds a new filter beside one that stays in use. While the rebuild is open, items that are added go to both, and FEED adds to the new one " +
		"the items that were there before. COMMIT replaces the old filter; if the new one has less than 90% of its items, or the old one has sources, which it drops, only with FORCE. Static kinds are built this way too.",
	Also: alsoRebuild,
	Run:  runRebuild,
}

// verbs are the words behind the key.
var verbs = map[string]func(*engine.Context, *engine.Call){
	"begin": runBegin, "feed": runFeed, "commit": runCommit, "abort": runAbort, "status": runStatus,
}

func runRebuild(x *engine.Context, c *engine.Call) {
	for word, verb := range verbs {
		if answer.Is(c.Args[2], word) {
			verb(x, c)
			return
		}
	}
	c.Fail(answer.TextSyntax + ": '" + blueprint.Clip(c.Args[2]) + "' is not BEGIN, FEED, COMMIT, ABORT or STATUS")
}

// target returns the filter of a call, nil if there is none, and its shadow, nil if
// none is open. It answers if the key is something else.
func target(x *engine.Context, c *engine.Call) (entry *catalog.Entry, sh *shadow.Shadow) {
	x.Look(func() { entry = x.Names().Lookup(c.Args[1]) })
	switch {
	case entry == nil:
		return nil, x.Contents().ShadowNamed(c.Args[1])
	case entry.Kind == catalog.Filter:
		return entry, x.Contents().Shadow(entry)
	case entry.Kind == catalog.Bloom || entry.Kind == catalog.Cuckoo:
		c.Fail("ERR FILTER.REBUILD is for filters of FILTER.CREATE: fill a new key and RENAME it to this one")
	default:
		c.Fail(answer.TextWrongType)
	}
	return nil, nil
}

// noRebuild says that no rebuild is open, and how to open one: of a kind that is built from more than its keys, that cannot be.
func noRebuild(entry *catalog.Entry) string {
	const text = "ERR no rebuild is open for this key"
	if entry != nil {
		if _, why := blueprint.KindNamed(contents.PartOf(entry).Row().Name, true); why != "" {
			return text + "; " + strings.TrimPrefix(why, "ERR ")
		}
	}
	return text + ": FILTER.REBUILD key BEGIN opens one"
}

// targetUnless is target. Another machine may have answered BEGIN, COMMIT or ABORT a moment ago, so if what is known here is an
// error, it waits for what that knows, and looks again.
func targetUnless(x *engine.Context, c *engine.Call, isError func(*shadow.Shadow) bool) (entry *catalog.Entry, sh *shadow.Shadow) {
	entry, sh = target(x, c)
	if c.Answered() || !x.Can().Cluster || !isError(sh) {
		return entry, sh
	}
	if failed := x.Contents().CatchUp(nil); failed.Kind != answer.None {
		c.Answer(failed)
		return nil, nil
	}
	return target(x, c)
}

// open is target for verbs that need a shadow. It answers and returns nil if there is
// none.
func open(x *engine.Context, c *engine.Call) (entry *catalog.Entry, sh *shadow.Shadow) {
	entry, sh = targetUnless(x, c, func(sh *shadow.Shadow) bool { return sh == nil || !sh.Ready() })
	if sh == nil && !c.Answered() {
		c.Fail(noRebuild(entry))
	}
	return entry, sh
}

func runBegin(x *engine.Context, c *engine.Call) {
	if !x.Can().Rebuilds() {
		c.Fail(answer.NeedsUpgrade("FILTER.REBUILD"))
		return
	}
	entry, sh := targetUnless(x, c, func(sh *shadow.Shadow) bool { return sh != nil })
	if c.Answered() {
		return
	}
	if sh != nil {
		c.Fail("ERR a rebuild is open for this key already")
		return
	}
	o, row, text := beginOptions(x, c, entry)
	if text != "" {
		c.Fail(text)
	}
	if c.Answered() || !x.Names().MayHash(c, c.Args[1], o.Hasher) {
		return
	}
	defer o.Within(x.Hold, x.Unhold)()
	r := &store.ShadowOpen{Shared: x.Can().Cluster}
	plan := contents.Plan{KeyID: o.Keyed}
	if entry == nil {
		r.Name = c.Args[1]
	} else {
		old := contents.PartOf(entry).Plan()
		r.Of, plan.SLA, plan.Budget, plan.Replicas, plan.News = entry.ID, old.SLA, old.Budget, old.Replicas, old.News
	}
	if r.Header, text = draft(o, row, &plan, x.Milliseconds()); text != "" {
		c.Fail(text)
		return
	}
	if _, err := store.NewBytes(r); err != nil {
		c.Fail("ERR " + o.Kind + ": " + filters.Cause(err))
		return
	}
	cost := uint64(0)
	if op, ok := x.Contents().Creation(r); ok {
		cost = op.Cost
	}
	res, failed := x.Contents().ApplyNames(r, cost)
	switch {
	case failed.Kind != answer.None:
		c.Answer(failed)
		return
	case errors.Is(res.Err, contents.ErrRetry):
		c.Fail("ERR the key has changed meanwhile: try again")
		return
	case errors.Is(res.Err, store.ErrExists):
		c.Fail("ERR a rebuild is open for this key already")
		return
	case res.Err != nil:
		c.Fail(filters.Failure(res.Err))
		return
	}
	if r.Shared {
		markAll(x, c, entry, res.Entry.ID)
		return
	}
	if entry != nil { // adds that began before have ended when this is answered
		for _, p := range contents.Parts(entry) {
			p.RLock()
			p.RUnlock() //nolint:staticcheck // waiting is all
		}
	}
	c.Answer(answer.OK())
}

// markAll has every add to a filter of a cluster go to its shadow, too, and answers. What
// was prepared before is prepared again behind the mark of its part.
func markAll(x *engine.Context, c *engine.Call, entry *catalog.Entry, shadow uint64) {
	var failed answer.Reply
	var err error
	if entry != nil {
		failed, err = x.Contents().ApplyParts(entry, &store.FilterMark{Number: shadow})
	}
	if failed.Kind == answer.None && err == nil {
		var res store.Result
		res, failed = x.Contents().ApplyNames(&store.RebuildStep{ID: shadow, What: store.StepReady}, 0)
		err = res.Err
	}
	switch {
	case failed.Kind != answer.None: // it may be ready, or not: then COMMIT and STATUS say so
		c.Answer(failed)
	case err != nil:
		c.Fail(textEnded)
	default:
		c.Answer(answer.OK())
	}
}

// beginOptions reads what stands behind BEGIN. What is not given is that of the old
// filter. It answers if the filter may not have its new key.
func beginOptions(x *engine.Context, c *engine.Call, entry *catalog.Entry) (*blueprint.Options, codec.Kind, string) {
	args := c.Args[3:]
	o := blueprint.Defaults()
	o.Level, o.Spread = x.Contents().Level(), x.Contents().Roster().Spread()
	if entry != nil {
		if text := takeFrom(x, o, entry); text != "" {
			return nil, codec.Kind{}, text
		}
	}
	if len(args) > 0 && !isBeginWord(answer.Lower(args[0])) {
		if _, text := blueprint.KindNamed(string(args[0]), true); text != "" {
			return nil, codec.Kind{}, text
		}
		o.Kind, args = string(args[0]), args[1:]
	}
	for ; len(args) > 0; args = args[2:] {
		word := answer.Lower(args[0])
		switch {
		case !isBeginWord(word):
			return nil, codec.Kind{}, answer.TextSyntax + ": '" + blueprint.Clip(args[0]) + "' is not an option of BEGIN"
		case o.Given[word]:
			return nil, codec.Kind{}, "ERR " + strings.ToUpper(word) + " is there twice"
		case len(args) == 1:
			return nil, codec.Kind{}, "ERR " + strings.ToUpper(word) + " needs a value"
		}
		o.Given[word] = true
		if word == "newkey" {
			h, text := x.Names().Secret(c, "NEWKEY", string(args[1]))
			if text != "" || c.Answered() {
				return nil, codec.Kind{}, text
			}
			o.Keyed, o.Hasher = string(args[1]), h
		} else if text := o.Read(word, args[1]); text != "" {
			return nil, codec.Kind{}, text
		}
	}
	if o.Kind == "" {
		return nil, codec.Kind{}, "ERR there is no filter of this name: BEGIN needs a kind"
	}
	row, text := blueprint.KindNamed(o.Kind, true)
	switch {
	case text != "":
	case o.Hasher.IsKeyless():
		text = "ERR the secret key '" + o.Keyed + "' of this filter is not in the file of keys: NEWKEY names another"
	case o.Hasher.Kind() != hashing.XXH3 && row.Name == "quorum":
		text = "ERR a secret key is not for kind quorum"
	}
	o.Kind = row.Name
	return o, row, text
}

func isBeginWord(word string) bool {
	return word == "capacity" || word == "error" || word == "parts" || word == "newkey"
}

// takeFrom takes kind, size and hash of a filter. It returns the error text, or "".
func takeFrom(x *engine.Context, o *blueprint.Options, entry *catalog.Entry) string {
	p := contents.PartOf(entry)
	o.Kind, o.Keyed, o.Least = p.Row().Name, p.Plan().KeyID, 1<<p.Plan().Parts
	o.Hasher, _ = p.Hasher()
	if x.Dry() { // the rest says nothing about rights
		return ""
	}
	v, ok, failed := progressOf(x, entry)
	switch {
	case failed.Kind != answer.None:
		return failed.Text
	case !ok:
		return answer.TextNotFound
	}
	if v.Capacity > 0 {
		o.Capacity = v.Capacity
	}
	if v.Items <= blueprint.MaxCapacity {
		o.Capacity = max(o.Capacity, v.Items)
	}
	o.Capacity = min(o.Capacity, blueprint.MaxCapacity)
	if v.Asked > 0 && v.Asked < 1 {
		o.Rate = v.Asked
	}
	if v.Members > 0 {
		o.Members, o.Need = v.Members, v.Need
	}
	if v.Generations > 0 {
		o.Generations, o.Burst = v.Generations, v.Burst
		o.Span = time.Duration(p.Plan().Generation) * time.Millisecond * time.Duration(v.Generations)
	}
	return ""
}

// progressOf returns what there is to know of a filter that may be rebuilt, wherever it is held.
func progressOf(x *engine.Context, entry *catalog.Entry) (v contents.Progress, ok bool, failed answer.Reply) {
	if !x.Contents().Whole(entry) {
		return x.Contents().Progress(entry.ID)
	}
	if v, ok = contents.PartOf(entry).Progress(); !ok {
		return v, false, failed
	}
	l, ok := x.Contents().Filters().Of(entry).Look() // which looks at some of many parts
	v.Items, v.Capacity, v.Asked, v.Gone = l.Items, l.Capacity, l.Asked, l.Gone
	for _, p := range contents.Parts(entry) { // one may have a source that others do not have yet
		v.Sources = max(v.Sources, uint64(len(p.Sources())))
	}
	return v, ok, failed
}

// draft returns the Value of the record that opens a shadow at a time in milliseconds
// since 1970, or the error text.
func draft(o *blueprint.Options, row codec.Kind, plan *contents.Plan, now int64) ([]byte, string) {
	if row.Features.Static {
		return o.Static(&row, plan)
	}
	outline, err := o.Empty(plan, now)
	if errors.Is(err, blueprint.ErrMemory) {
		return nil, answer.TextOOM
	}
	if err != nil {
		return nil, "ERR " + o.Kind + ": " + filters.Cause(err)
	}
	return contents.AppendShadow(nil, plan, outline), ""
}

func runFeed(x *engine.Context, c *engine.Call) {
	if len(c.Args) < 4 {
		c.Fail("ERR wrong number of arguments for 'filter.rebuild|feed' command")
		return
	}
	_, sh := open(x, c)
	if sh == nil {
		return
	}
	if _, usable := sh.Hasher(); !usable {
		c.Fail(filters.MissingKey(sh.Plan()))
		return
	}
	if sh.Broken() {
		c.Fail(textBroken)
		return
	}
	if x.Can().Cluster && !sh.Ready() {
		c.Fail(textNotReady)
		return
	}
	if text := x.Users().Spend(x.Client(), len(c.Args)-3); text != "" {
		c.Fail(text)
		return
	}
	if sh.Plan().Generation > 0 {
		x.Look(func() { filters.Advance(x, sh.Entry()) })
	}
	done, failed, err := x.Staging().Feed(sh, c.Args[3:])
	switch {
	case failed.Kind != answer.None:
		c.Answer(failed)
	case errors.Is(err, contents.ErrRetry), errors.Is(err, contents.ErrType): // it is gone, or a filter now
		c.Fail(textEnded)
	case errors.Is(err, store.ErrSealed):
		c.Fail(textCommitting + ": no more items are taken")
	case err != nil:
		breakShadow(x, sh)
		c.Fail(filters.Failure(err) + "; the rebuild is broken: ABORT it, and BEGIN one with more CAPACITY")
	default:
		c.Answer(answer.Integer(int64(done)))
	}
}

const textNotReady = "ERR BEGIN has not ended yet, or its node is down: wait, or ABORT and BEGIN again"

const textBroken = "ERR the rebuild is broken, since an item had no room in it: ABORT it, and BEGIN one with more CAPACITY"

// breakShadow marks a shadow as one that lacks items.
func breakShadow(x *engine.Context, sh *shadow.Shadow) {
	if x.Can().Cluster {
		x.Contents().ApplyNames(&store.RebuildStep{ID: sh.ID, What: store.StepBreak}, 0)
		return
	}
	x.Contents().ApplyPiece(contents.PartOf(sh.Entry()), store.Record{ID: sh.ID, Body: &store.ShadowBreak{}})
}

func runAbort(x *engine.Context, c *engine.Call) {
	if len(c.Args) != 3 {
		c.Fail(answer.TextSyntax)
		return
	}
	entry, sh := targetUnless(x, c, func(sh *shadow.Shadow) bool { return sh == nil })
	if sh == nil { // another key may have taken the name of a rebuild without a filter
		sh = x.Contents().ShadowNamed(c.Args[1])
	}
	if sh == nil {
		if !c.Answered() {
			c.Fail(noRebuild(entry))
		}
		return
	}
	res, failed := x.Contents().ApplyNames(&store.Evict{IDs: []uint64{sh.ID}}, 0)
	switch {
	case failed.Kind != answer.None:
		c.Answer(failed)
	case res.N == 0:
		c.Fail(textEnded)
	default:
		c.Answer(answer.OK())
	}
}

func runStatus(x *engine.Context, c *engine.Call) {
	if len(c.Args) != 3 {
		c.Fail(answer.TextSyntax)
		return
	}
	entry, sh := open(x, c)
	if sh == nil {
		return
	}
	v, ok, failed := x.Contents().Progress(sh.ID)
	switch {
	case failed.Kind != answer.None:
		c.Answer(failed)
		return
	case !ok || x.Contents().ShadowBy(sh.ID) == nil:
		c.Fail(textEnded)
		return
	}
	state := "open"
	switch {
	case sh.Broken():
		state = "broken"
	case sh.Closed():
		state = "committing"
	case x.Can().Cluster && !sh.Ready():
		state = "opening"
	}
	pairs := []answer.Reply{
		answer.Text("state"), answer.Text(state), answer.Text("kind"), answer.Text(sh.Row().Name),
		answer.Text("capacity"), number(v.Capacity), answer.Text("parts"), number(1 << sh.Plan().Parts),
		answer.Text("items"), number(v.Items), answer.Text("fed"), number(v.Fed), answer.Text("added"), number(v.Added),
		answer.Text("deleted"), number(v.Missed), answer.Text("bytes"), number(v.Bytes),
	}
	if h, _ := sh.Hasher(); h.Kind() != hashing.XXH3 {
		pairs = append(pairs, answer.Text("key"), answer.Text(sh.Plan().KeyID))
	}
	if entry != nil {
		if old, ok, _ := progressOf(x, entry); ok {
			pairs = append(pairs, answer.Text("old_items"), number(old.Items))
		}
	}
	if made := contents.PartOf(sh.Entry()).Made(); made > 0 {
		pairs = append(pairs, answer.Text("age"), answer.Integer(max(0, x.Milliseconds()/1000-made)))
	}
	c.Answer(answer.Pairs(pairs...))
}

func number(n uint64) answer.Reply { return answer.Integer(int64(min(n, math.MaxInt64))) }

// Check answers adds that the shadow of a filter cannot take, and reports whether the others
// are to be run from the beginning again. adding is how items are added.
func Check(x *engine.Context, sh *shadow.Shadow, calls []engine.Call, adding *bundle.Writing) (again bool) {
	_, usable := sh.Hasher()
	if !usable && !sh.Broken() { // its key is gone: it will lack what comes now
		r := store.Record{ID: sh.ID, Body: &store.ShadowBreak{}}
		if x.Contents().Refresh(contents.PartOf(sh.Entry()), r) {
			return true
		}
	}
	if sh.Broken() {
		return false
	}
	if sh.Plan().Generation > 0 && filters.Advance(x, sh.Entry()) {
		return true
	}
	for i := range calls {
		switch c := &calls[i]; {
		case c.Answered() || bundle.Of(c).Write != adding:
		case !usable:
			c.Fail(filters.MissingKey(sh.Plan()))
		case sh.Row().Features.Static && sh.Closed():
			c.Fail("ERR the filter becomes one of kind " + sh.Row().Name + ", which takes no more items: a COMMIT is under way")
		case bundle.Of(c).Hash != nil && !sh.Same():
			c.Fail("ERR " + strings.ToUpper(c.Command().Name) + " is refused while the filter gets a new key")
		}
	}
	return false
}

func percentOf(a, b uint64) string {
	return strconv.FormatFloat(100*float64(a)/float64(b), 'f', 1, 64) + "%"
}

// alsoRebuild is what ACL DRYRUN asks besides: for the secret key of the filter that is built.
func alsoRebuild(x *engine.Context, c *engine.Call) {
	entry, sh := target(x, c)
	switch {
	case c.Answered():
	case answer.Is(c.Args[2], "begin"):
		if o, _, text := beginOptions(x, c, entry); text == "" && !c.Answered() {
			x.Names().MayHash(c, c.Args[1], o.Hasher)
		}
	case answer.Is(c.Args[2], "commit") && sh != nil:
		h, _ := sh.Hasher()
		x.Names().MayHash(c, c.Args[1], h)
	}
}
