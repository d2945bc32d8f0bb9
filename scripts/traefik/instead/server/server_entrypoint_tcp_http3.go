package server

import (
	"context"

	"github.com/traefik/traefik/v3/pkg/config/static"
	tcprouter "github.com/traefik/traefik/v3/pkg/server/router/tcp"
)

// http3server would serve HTTP/3. No entry point has one.
type http3server struct{}

func newHTTP3Server(context.Context, string, *static.EntryPoint, *httpServer) (*http3server, error) {
	return nil, nil
}

func (*http3server) Start() error                   { return nil }
func (*http3server) Switch(*tcprouter.Router)       {}
func (*http3server) Shutdown(context.Context) error { return nil }
func (*http3server) Close() error                   { return nil }
