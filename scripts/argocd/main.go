// The parts of Argo CD that tests run, and the controller of Argo Rollouts, in one program: the name of the program, or ARGOCD_BINARY_NAME, selects the part.
package main

import (
	"os"
	"path/filepath"

	controller "github.com/argoproj/argo-cd/v3/cmd/argocd-application-controller/commands"
	askpass "github.com/argoproj/argo-cd/v3/cmd/argocd-git-ask-pass/commands"
	reposerver "github.com/argoproj/argo-cd/v3/cmd/argocd-repo-server/commands"
	server "github.com/argoproj/argo-cd/v3/cmd/argocd-server/commands"
	rollouts "github.com/argoproj/argo-rollouts/cmd/rollouts-controller"
	"github.com/spf13/cobra"
)

func main() {
	parts := map[string]func() *cobra.Command{
		"argo-rollouts":                 rollouts.NewCommand,
		"argocd-application-controller": controller.NewCommand,
		"argocd-git-ask-pass":           askpass.NewCommand,
		"argocd-repo-server":            reposerver.NewCommand,
		"argocd-server":                 server.NewCommand,
	}
	name := filepath.Base(os.Args[0])
	if given := os.Getenv("ARGOCD_BINARY_NAME"); given != "" {
		name = given
	}
	part, known := parts[name]
	if !known {
		os.Stderr.WriteString("argocd: this program has no part " + name + "\n")
		os.Exit(2)
	}
	if part().Execute() != nil {
		os.Exit(1)
	}
}
