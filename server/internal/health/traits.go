package health

// What can ail each kind, and what cures it.

// set is a set of symptoms.
type set uint16

func setOf(list ...symptom) (s set) {
	for _, v := range list {
		s |= 1 << v
	}
	return s
}

func (s set) has(v symptom) bool { return s>>v&1 != 0 }

// traits are what can ail a kind, and what cures it.
type traits struct {
	symptoms set
	layers   bool // FILTER.GROW lets it grow
	flat     bool // it has no blocks that some keys fill more than others
	given    bool // it is built from more than its keys, outside of the server
	refuses  bool // it refuses items when it is full, and keeps its rate
}

// What every kind can have, what those have that take a fixed number of items, and
// what those have whose fill depends on the number of items.
var (
	always   = setOf(slow, overBudget, deleted)
	modelled = always | setOf(wrongKind)
	bounded  = modelled | setOf(overRate, skewed, outgrown, fillingUp, sparse)
	endless  = modelled | setOf(overRate, skewed)
)

// kinds is the table of what each kind can have. Scalable and growing filters get
// larger, windows and stable filters drop old keys: none of them is ever full.
// Static filters are full from the beginning and keep their rate. The kinds of
// RedisBloom are not advised to become another kind, since their clients speak BF
// and CF only; those that grow have no Resize, see Look.Grows.
var kinds = map[string]traits{
	"bloom":       {symptoms: bounded, layers: true},
	"standard":    {symptoms: bounded, flat: true},
	"partitioned": {symptoms: bounded, flat: true},
	"split":       {symptoms: bounded},
	"counting":    {symptoms: bounded},
	"spectral":    {symptoms: bounded},
	"cuckoo":      {symptoms: bounded, flat: true, refuses: true},
	"quotient":    {symptoms: bounded, flat: true, refuses: true},
	"quorum":      {symptoms: bounded &^ setOf(wrongKind)},
	"scalable":    {symptoms: endless},
	"growing":     {symptoms: endless, flat: true},
	"window":      {symptoms: endless &^ setOf(wrongKind)},
	"stable":      {symptoms: endless &^ setOf(wrongKind)},
	"fuse8":       {symptoms: modelled, flat: true},
	"fuse16":      {symptoms: modelled, flat: true},
	"fuse32":      {symptoms: modelled, flat: true},
	"ribbon":      {symptoms: modelled, flat: true},
	"map":         {symptoms: always, flat: true, given: true},
	"exact":       {symptoms: always, flat: true, given: true},
	"bf":          {symptoms: bounded &^ setOf(wrongKind, skewed), flat: true, refuses: true},
	"cf":          {symptoms: bounded &^ setOf(wrongKind, skewed), flat: true, refuses: true},
}

// traitsOf returns the traits of a kind. One that is not in the table can only be
// slow or over its budget.
func traitsOf(kind string) traits {
	if t, ok := kinds[kind]; ok {
		return t
	}
	return traits{symptoms: always}
}
