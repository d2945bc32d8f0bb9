// Calls a server and the app-proxy of a GitOps runtime with the public Go SDK, as its users do.
//
// It reads a JSON list of calls from standard input, each a list of a name and texts, and prints a list of
// {"result", "error"}. CF_URL and CF_TOKEN are the server and the key. The call `unseal` asks no server: it opens a value
// as the controller of Sealed Secrets does, with its code.
package main

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"

	"github.com/bitnami-labs/sealed-secrets/pkg/crypto"
	"github.com/codefresh-io/go-sdk/pkg/appproxy"
	"github.com/codefresh-io/go-sdk/pkg/codefresh"
	apmodel "github.com/codefresh-io/go-sdk/pkg/model/app-proxy"
	platmodel "github.com/codefresh-io/go-sdk/pkg/model/platform"
)

type answer struct {
	Result any    `json:"result,omitempty"`
	Error  string `json:"error,omitempty"`
}

type call struct {
	sdk  codefresh.Codefresh
	args []string
}

// text returns an argument; an absent one is empty.
func (c call) text(at int) string {
	if at < len(c.args) {
		return c.args[at]
	}
	return ""
}

func (c call) maybe(at int) *string {
	if text := c.text(at); text != "" {
		return &text
	}
	return nil
}

// proxy finds the app-proxy of the runtime that the first argument names.
func (c call) proxy(ctx context.Context) (appproxy.AppProxyAPI, error) {
	return c.sdk.AppProxy(ctx, c.text(0), false)
}

type do func(context.Context, call) (any, error)

// atProxy makes a call of the app-proxy.
func atProxy(then func(context.Context, appproxy.AppProxyAPI, call) (any, error)) do {
	return func(ctx context.Context, c call) (any, error) {
		proxy, err := c.proxy(ctx)
		if err != nil {
			return nil, err
		}
		return then(ctx, proxy, c)
	}
}

var calls = map[string]do{
	"createRuntime": func(ctx context.Context, c call) (any, error) {
		recover := c.text(3) == "recover"
		kind := platmodel.InstallationTypeHelm
		return c.sdk.GraphQL().Runtime().Create(ctx, &platmodel.RuntimeInstallationArgs{
			RuntimeName:      c.text(0),
			RuntimeNamespace: c.maybe(1),
			IngressHost:      c.maybe(2),
			Recover:          &recover,
			Cluster:          "https://kubernetes.default.svc",
			RuntimeVersion:   "0.1.72",
			ComponentNames:   []string{"argo-cd", "app-proxy"},
			InstallationType: &kind,
		})
	},
	"runtime":       func(ctx context.Context, c call) (any, error) { return c.sdk.GraphQL().Runtime().Get(ctx, c.text(0)) },
	"runtimes":      func(ctx context.Context, c call) (any, error) { return c.sdk.GraphQL().Runtime().List(ctx) },
	"deleteRuntime": func(ctx context.Context, c call) (any, error) { return c.sdk.GraphQL().Runtime().Delete(ctx, c.text(0)) },
	"reportErrors": func(ctx context.Context, c call) (any, error) {
		return c.sdk.GraphQL().Runtime().ReportErrors(ctx, &platmodel.ReportRuntimeErrorsArgs{
			Runtime: c.text(0),
			Errors:  []*platmodel.HealthErrorInput{{Level: platmodel.ErrorLevelsError, Message: c.text(1)}},
		})
	},
	"setSharedConfigRepo": func(ctx context.Context, c call) (any, error) {
		return c.sdk.GraphQL().Runtime().SetSharedConfigRepo(ctx, c.text(0))
	},
	"updateCsdpSettings": func(ctx context.Context, c call) (any, error) {
		return nil, c.sdk.GraphQL().Account().UpdateCsdpSettings(ctx, platmodel.GitProviders(c.text(0)), c.text(1), c.text(2))
	},
	"me":         func(ctx context.Context, c call) (any, error) { return c.sdk.GraphQL().User().GetCurrent(ctx) },
	"clusters":   func(ctx context.Context, c call) (any, error) { return c.sdk.GraphQL().Cluster().List(ctx, c.text(0)) },
	"gitSources": func(ctx context.Context, c call) (any, error) { return c.sdk.GraphQL().GitSource().List(ctx, c.text(0)) },
	"components": func(ctx context.Context, c call) (any, error) { return c.sdk.GraphQL().Component().List(ctx, c.text(0)) },
	"limits":     func(ctx context.Context, c call) (any, error) { return c.sdk.GraphQL().Payments().GetLimitsStatus(ctx) },
	"versionSource": func(ctx context.Context, c call) (any, error) {
		app := &platmodel.ObjectMeta{Runtime: c.text(0), Name: c.text(2), Namespace: c.maybe(1)}
		return c.sdk.GraphQL().PromotionTemplate().GetVersionSourceByRuntime(ctx, app)
	},
	"versionInfo": atProxy(func(ctx context.Context, proxy appproxy.AppProxyAPI, _ call) (any, error) {
		return proxy.VersionInfo().VersionInfo(ctx)
	}),
	"integrations": atProxy(func(ctx context.Context, proxy appproxy.AppProxyAPI, _ call) (any, error) {
		return proxy.GitIntegration().List(ctx)
	}),
	"integration": atProxy(func(ctx context.Context, proxy appproxy.AppProxyAPI, c call) (any, error) {
		return proxy.GitIntegration().Get(ctx, c.maybe(1))
	}),
	"addIntegration": atProxy(func(ctx context.Context, proxy appproxy.AppProxyAPI, c call) (any, error) {
		return proxy.GitIntegration().Add(ctx, &apmodel.AddGitIntegrationArgs{
			Name:          c.maybe(1),
			Provider:      apmodel.GitProviders(c.text(2)),
			APIURL:        c.maybe(3),
			SharingPolicy: apmodel.SharingPolicyAllUsersInAccount,
		})
	}),
	"editIntegration": atProxy(func(ctx context.Context, proxy appproxy.AppProxyAPI, c call) (any, error) {
		return proxy.GitIntegration().Edit(ctx, &apmodel.EditGitIntegrationArgs{
			Name:          c.maybe(1),
			APIURL:        c.maybe(2),
			SharingPolicy: apmodel.SharingPolicyAccountAdmins,
		})
	}),
	"register": atProxy(func(ctx context.Context, proxy appproxy.AppProxyAPI, c call) (any, error) {
		return proxy.GitIntegration().Register(ctx, &apmodel.RegisterToGitIntegrationArgs{Name: c.maybe(1), Token: c.text(2)})
	}),
	"deregister": atProxy(func(ctx context.Context, proxy appproxy.AppProxyAPI, c call) (any, error) {
		return proxy.GitIntegration().Deregister(ctx, c.maybe(1))
	}),
	"removeIntegration": atProxy(func(ctx context.Context, proxy appproxy.AppProxyAPI, c call) (any, error) {
		return nil, proxy.GitIntegration().Remove(ctx, c.text(1))
	}),
	"createGitSource": atProxy(func(ctx context.Context, proxy appproxy.AppProxyAPI, c call) (any, error) {
		return nil, proxy.GitSource().Create(ctx, &apmodel.CreateGitSourceInput{
			AppName:      c.text(1),
			AppSpecifier: c.text(2),
			DestServer:   "https://kubernetes.default.svc",
			Labels:       c.maybe(3),
		})
	}),
	"editGitSource": atProxy(func(ctx context.Context, proxy appproxy.AppProxyAPI, c call) (any, error) {
		return nil, proxy.GitSource().Edit(ctx, &apmodel.EditGitSourceInput{
			AppName:      c.text(1),
			AppSpecifier: c.text(2),
			Include:      c.maybe(3),
		})
	}),
	"deleteGitSource": atProxy(func(ctx context.Context, proxy appproxy.AppProxyAPI, c call) (any, error) {
		return nil, proxy.GitSource().Delete(ctx, c.text(1))
	}),
	"removeCluster": atProxy(func(ctx context.Context, proxy appproxy.AppProxyAPI, c call) (any, error) {
		return nil, proxy.Cluster().Delete(ctx, c.text(1), c.text(0))
	}),
	"unseal": func(_ context.Context, c call) (any, error) { return unseal(c.text(0), c.text(1), c.text(2)) },
	"removeFromIscRepo": atProxy(func(ctx context.Context, proxy appproxy.AppProxyAPI, _ call) (any, error) {
		return proxy.ISC().RemoveRuntimeFromIscRepo(ctx)
	}),
}

// unseal opens a value for a Secret, NAMESPACE/NAME, with a key in PEM (PKCS #8).
func unseal(key, secret, value string) (string, error) {
	block, _ := pem.Decode([]byte(key))
	if block == nil {
		return "", errors.New("the key is not PEM")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return "", err
	}
	private, isRSA := parsed.(*rsa.PrivateKey)
	if !isRSA {
		return "", errors.New("the key is not one of RSA")
	}
	sealed, err := base64.StdEncoding.DecodeString(value)
	if err != nil {
		return "", err
	}
	plain, err := crypto.HybridDecrypt(rand.Reader, map[string]*rsa.PrivateKey{"key": private}, sealed, []byte(secret))
	return string(plain), err
}

func main() {
	var wanted [][]string
	if err := json.NewDecoder(os.Stdin).Decode(&wanted); err != nil {
		fmt.Fprintln(os.Stderr, "standard input has no list of calls:", err)
		os.Exit(2)
	}
	sdk := codefresh.New(&codefresh.ClientOptions{Host: os.Getenv("CF_URL"), Token: os.Getenv("CF_TOKEN")})
	answers := make([]answer, 0, len(wanted))
	for _, one := range wanted {
		run, known := calls[one[0]]
		if !known {
			fmt.Fprintln(os.Stderr, "unknown call:", one[0])
			os.Exit(2)
		}
		result, err := run(context.Background(), call{sdk: sdk, args: one[1:]})
		if err != nil {
			answers = append(answers, answer{Error: err.Error()})
			continue
		}
		answers = append(answers, answer{Result: result})
	}
	if err := json.NewEncoder(os.Stdout).Encode(answers); err != nil {
		os.Exit(1)
	}
}
