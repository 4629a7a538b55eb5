package redisbloom

import "errors"

// errJSON is the error of filters and sketches that are asked for JSON, or to be read
// from it: JSON of their fields would be {}, and no item would come back.
var errJSON = errors.New("redisbloom: there is no JSON form: take the bytes of MarshalBinary, which JSON holds as base64")

// MarshalJSON returns an error that names MarshalBinary: there is no JSON form.
func (Bloom) MarshalJSON() ([]byte, error) { return nil, errJSON }

// UnmarshalJSON returns an error that names MarshalBinary, see MarshalJSON.
func (*Bloom) UnmarshalJSON([]byte) error { return errJSON }

// MarshalJSON returns an error that names MarshalBinary: there is no JSON form.
func (Cuckoo) MarshalJSON() ([]byte, error) { return nil, errJSON }

// UnmarshalJSON returns an error that names MarshalBinary, see MarshalJSON.
func (*Cuckoo) UnmarshalJSON([]byte) error { return errJSON }

// MarshalJSON returns an error that names MarshalBinary: there is no JSON form.
func (CountMin) MarshalJSON() ([]byte, error) { return nil, errJSON }

// UnmarshalJSON returns an error that names MarshalBinary, see MarshalJSON.
func (*CountMin) UnmarshalJSON([]byte) error { return errJSON }

// MarshalJSON returns an error that names MarshalBinary: there is no JSON form.
func (TopK) MarshalJSON() ([]byte, error) { return nil, errJSON }

// UnmarshalJSON returns an error that names MarshalBinary, see MarshalJSON.
func (*TopK) UnmarshalJSON([]byte) error { return errJSON }

// MarshalJSON returns an error that names MarshalBinary: there is no JSON form.
func (TDigest) MarshalJSON() ([]byte, error) { return nil, errJSON }

// UnmarshalJSON returns an error that names MarshalBinary, see MarshalJSON.
func (*TDigest) UnmarshalJSON([]byte) error { return errJSON }
