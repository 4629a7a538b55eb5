package bloomery

// Stats is what a filter tells about itself.
type Stats struct {
	// Kind is the name of the kind, as in "bloom" or "standard".
	Kind string
	// Capacity is the number of keys the filter was made for, 0 if that was
	// never said.
	Capacity uint64
	// Items is the number of keys in the filter; Exact tells whether it was
	// counted (true) or estimated from the fill (false).
	Items uint64
	Exact bool
	// Bits is the size of the filter's array, Bytes its memory.
	Bits  uint64
	Bytes uint64
	// Saturation is the share of the array in use, from 0 to 1.
	Saturation float64
	// Overflow is the share of counters that are full and will not go down
	// again, 0 for kinds that have none.
	Overflow float64
	// Asked is the error rate asked for at Capacity, Predicted the rate that
	// the model of the layout gives for the present fill.
	Asked     float64
	Predicted float64
}
