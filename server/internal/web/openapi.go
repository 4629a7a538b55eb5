package web

import (
	_ "embed"
	"net/http"
)

// openapi describes the API. A test holds it to the routes and to what they answer.
//
//go:embed openapi.yaml
var openapi []byte

var openapiRoutes = []route{
	{"GET", "/api/v1/openapi.yaml", (*call).document, static, "The description of the API, in OpenAPI 3.1."},
}

func (c *call) document() error {
	writeBytes(c.w, http.StatusOK, "application/yaml", openapi)
	return nil
}
