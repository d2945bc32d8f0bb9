// Traefik with its providers of Ingress (the one that reads the annotations of ingress-nginx) and of the Gateway API, for tests. It takes the flags of Traefik.
package main

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"github.com/rs/zerolog/log"
	"github.com/traefik/paerser/flag"
	"github.com/traefik/paerser/types"
	"github.com/traefik/traefik/v3/pkg/config/dynamic"
	"github.com/traefik/traefik/v3/pkg/config/runtime"
	"github.com/traefik/traefik/v3/pkg/config/static"
	"github.com/traefik/traefik/v3/pkg/observability/metrics"
	"github.com/traefik/traefik/v3/pkg/provider/aggregator"
	"github.com/traefik/traefik/v3/pkg/provider/traefik"
	"github.com/traefik/traefik/v3/pkg/proxy/httputil"
	"github.com/traefik/traefik/v3/pkg/safe"
	"github.com/traefik/traefik/v3/pkg/server"
	"github.com/traefik/traefik/v3/pkg/server/middleware"
	"github.com/traefik/traefik/v3/pkg/server/service"
	"github.com/traefik/traefik/v3/pkg/tcp"
	traefiktls "github.com/traefik/traefik/v3/pkg/tls"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		log.Error().Err(err).Msg("Traefik ends")
		os.Exit(1)
	}
}

func run(args []string) error {
	config := &static.Configuration{
		EntryPoints:         make(static.EntryPoints),
		Providers:           &static.Providers{},
		ServersTransport:    &static.ServersTransport{},
		TCPServersTransport: &static.TCPServersTransport{DialTimeout: types.Duration(30 * time.Second)},
	}
	if err := flag.Decode(args, config); err != nil {
		return err
	}
	config.SetEffectiveConfiguration()
	if err := config.ValidateConfiguration(); err != nil {
		return err
	}
	if config.Log != nil {
		level, err := zerolog.ParseLevel(config.Log.Level)
		if err != nil {
			return err
		}
		zerolog.SetGlobalLevel(level)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer cancel()
	svr, err := setup(config)
	if err != nil {
		return err
	}
	if config.Ping != nil {
		config.Ping.WithContext(ctx)
	}
	svr.Start(ctx)
	defer svr.Close()
	svr.Wait()
	return nil
}

// setup puts the parts together as the command of Traefik does, without those that are left out.
func setup(config *static.Configuration) (*server.Server, error) {
	pool := safe.NewPool(context.Background())
	providers := aggregator.NewProviderAggregator(*config.Providers)
	if err := providers.AddProvider(traefik.New(*config)); err != nil {
		return nil, err
	}
	certificates := traefiktls.NewManager(config.OCSP)
	pool.GoCtx(certificates.Run)
	registry := metrics.NewVoidRegistry()
	observed := middleware.NewObservabilityMgr(*config, registry, nil, nil, nil, nil)
	entryPoints, err := server.NewTCPEntryPoints(config.EntryPoints, config.HostResolver, registry)
	if err != nil {
		return nil, err
	}
	udpEntryPoints, err := server.NewUDPEntryPoints(config.EntryPoints)
	if err != nil {
		return nil, err
	}
	transports := service.NewTransportManager(nil)
	proxies := httputil.NewProxyBuilder(transports, nil)
	dialers := tcp.NewDialerManager(nil)
	services := service.NewManagerFactory(*config, pool, observed, transports, proxies, nil, certificates)
	routers, err := server.NewRouterFactory(*config, services, certificates, observed, nil, dialers)
	if err != nil {
		return nil, err
	}
	watcher := server.NewConfigurationWatcher(pool, providers, defaultEntryPoints(config), "internal", false)
	watcher.AddListener(func(conf dynamic.Configuration) {
		certificates.UpdateConfigs(context.Background(), conf.TLS.Stores, conf.TLS.Options, conf.TLS.Certificates)
	})
	watcher.AddListener(func(conf dynamic.Configuration) {
		transports.Update(conf.HTTP.ServersTransports)
		proxies.Update(conf.HTTP.ServersTransports)
		dialers.Update(conf.TCP.ServersTransports)
	})
	watcher.AddListener(func(conf dynamic.Configuration) {
		tcpRouters, udpRouters := routers.CreateRouters(runtime.NewConfig(conf))
		entryPoints.Switch(tcpRouters)
		udpEntryPoints.Switch(udpRouters)
	})
	return server.NewServer(pool, entryPoints, udpEntryPoints, watcher, observed), nil
}

// defaultEntryPoints returns the entry points of routers that name none.
func defaultEntryPoints(config *static.Configuration) []string {
	var names []string
	for name := range config.EntryPoints {
		if name != static.DefaultInternalEntryPointName {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
