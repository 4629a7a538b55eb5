// Package batches has what families do alike with many keys.
package batches

// Insert calls insert for all of keys, in order. It stops at the first error and returns
// how many were inserted. It is inlined, and so is a function literal that it is given: a
// method value would be called by its address, key by key.
func Insert[K any](keys []K, insert func(K) error) (n int, err error) {
	for i, key := range keys {
		if err := insert(key); err != nil {
			return i, err
		}
	}
	return len(keys), nil
}
