package fuse

// Tries returns how many seeds were tried for each shard.
func (f *array[T]) Tries() []int {
	tries := make([]int, len(f.shards))
	for i := range f.shards {
		tries[i] = int(f.shards[i].seed) + 1
	}
	return tries
}
