package store

// Operations lists the operations that have a row in the table.
func Operations() (list []Op) {
	for i := range operations {
		if operations[i].body != nil {
			list = append(list, Op(i))
		}
	}
	return list
}
