package demo

// Share counts how many of some things are so: absent keys that are taken for present, for example.
type Share struct{ Yes, All int }

// Count counts one more thing, which is so or is not.
func (s *Share) Count(yes bool) {
	s.All++
	if yes {
		s.Yes++
	}
}

// Rate returns the share, of 0 to 1, or 0 if there is nothing.
func (s Share) Rate() float64 { return float64(s.Yes) / float64(max(1, s.All)) }

// String returns the share as "3 of 10".
func (s Share) String() string { return Count(s.Yes) + " of " + Count(s.All) }
