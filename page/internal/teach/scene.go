package teach

// Scene: what a script shows.

// Scene is what a Script shows: the panels on which cells lie, and the steps.
// Before the first step all cells are 0.
type Scene struct {
	Kind   string `json:"kind"`
	Lesson string `json:"lesson,omitempty"`
	Title  string `json:"title"`
	About  string `json:"about"`
	// Cell is what a cell is: a bit, a counter, a slot or a digit.
	Cell string `json:"cell"`
	// Bits and Hashes are the size of the array and the bits that a key sets;
	// for a cuckoo filter the slots, and 0.
	Bits   int `json:"bits"`
	Hashes int `json:"hashes"`
	// Actions are what can be done: add, ask, and perhaps delete, report, fill and advance.
	Actions []string `json:"actions"`
	// Words are the keys that a lesson with given positions has, empty where any
	// key will do.
	Words  []Word  `json:"words"`
	Panels []Panel `json:"panels"`
	Steps  []Step  `json:"steps"`
}

// Word is a key of a lesson with its given positions.
type Word struct {
	Key   string `json:"key"`
	Cells []int  `json:"cells"`
	// Why is how the positions follow from the key, "" if they are just given.
	Why string `json:"why,omitempty"`
}

// Panel is a run of cells that is drawn as one piece: an array, a block, a
// layer, a generation.
type Panel struct {
	Name string `json:"name"`
	// First is the number of the first cell and Cells how many there are.
	First int `json:"first"`
	Cells int `json:"cells"`
	// Columns is the number of cells in a row, and Group how many of these
	// stand close together.
	Columns int `json:"columns"`
	Group   int `json:"group"`
	// Since is the number of steps after which the panel is there.
	Since int `json:"since"`
}

// Step is one action and what it changed.
type Step struct {
	Do      string  `json:"do"`
	Key     string  `json:"key,omitempty"`
	N       int     `json:"n,omitempty"` // keys that fill adds
	Verdict Verdict `json:"verdict"`
	Text    string  `json:"text"`
	// Cells are those that the key has, in ascending order.
	Cells []int `json:"cells"`
	// Mark is the fingerprint of the key in a cuckoo filter, 0 for other kinds.
	Mark int `json:"mark,omitempty"`
	// Changes are the cells that have another value after this step, and Owners
	// those that other keys have set.
	Changes []Change `json:"changes"`
	Owners  []Owner  `json:"owners"`
	// Labels are the names of the panels from this step on, nil if they stay.
	Labels []string `json:"labels,omitempty"`
	// Reports are the keys that are held as false positives, the oldest first.
	Reports []string `json:"reports,omitempty"`
	// Keys are how many are in the filter, Set how many cells are not 0, Fill
	// their share, and Predicted the false positive rate at this fill.
	Keys      int     `json:"keys"`
	Set       int     `json:"set"`
	Fill      float64 `json:"fill"`
	Predicted float64 `json:"predicted"`
}

// Change is a cell and its new value.
type Change [2]int

// Owner is a cell and the keys that have set it.
type Owner struct {
	Cell int      `json:"cell"`
	Keys []string `json:"keys"`
}

// Verdict is the outcome of a step in a word or two.
type Verdict string

// The verdicts.
const (
	Inserted      Verdict = "inserted"
	Unchanged     Verdict = "nothing changed"
	Full          Verdict = "full"
	Filled        Verdict = "filled"
	Present       Verdict = "present"
	FalsePositive Verdict = "false positive"
	Absent        Verdict = "certainly absent"
	FalseNegative Verdict = "false negative"
	Deleted       Verdict = "deleted"
	Listed        Verdict = "listed as out"
	NotThere      Verdict = "not there"
	Reported      Verdict = "reported"
	TooLate       Verdict = "too late"
	Advanced      Verdict = "advanced"
)
