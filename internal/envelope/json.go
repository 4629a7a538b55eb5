package envelope

import "errors"

// NoJSON is embedded by filters: JSON of their fields would be {}, and no key would come
// back, so JSON is an error.
type NoJSON struct{}

var errJSON = errors.New("bloomery: a filter has no JSON form: take the bytes of MarshalBinary, which JSON holds as base64")

// MarshalJSON implements json.Marshaler.
func (NoJSON) MarshalJSON() ([]byte, error) { return nil, errJSON }

// UnmarshalJSON implements json.Unmarshaler.
func (*NoJSON) UnmarshalJSON([]byte) error { return errJSON }
