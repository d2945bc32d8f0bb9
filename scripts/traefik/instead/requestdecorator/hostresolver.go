package requestdecorator

import "context"

// Resolver would replace a host by what its CNAME records lead to.
type Resolver struct {
	CnameFlattening bool
	ResolvConfig    string
	ResolvDepth     int
}

func (*Resolver) CNAMEFlatten(_ context.Context, host string) string { return host }
