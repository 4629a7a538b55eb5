package fuse

// Tries returns how many seeds were tried for each shard.
func (a *array[T]) Tries() []int {
	tries := make([]int, len(a.shards))
	for i := range a.shards {
		tries[i] = int(a.shards[i].seed) + 1
	}
	return tries
}
