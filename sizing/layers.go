package sizing

// LayerShare returns the part of the rate of a scalable filter that its layer i has, 1
// being the first: 0.144 for three layers, then 2/i². All of them, without an end, add
// up to less than 1: 0.432, and 2/16 + 2/25 + ... = 0.5676.
//
// The last layer has half of the keys, so its share decides on the memory. Four layers,
// which hold ten times the first capacity, have 0.56 of the rate. It panics if i is less
// than 1.
func LayerShare(i int) float64 {
	if i < 1 {
		panic("sizing: layers are counted from 1 on")
	}
	return min(0.144, 2/(float64(i)*float64(i)))
}
