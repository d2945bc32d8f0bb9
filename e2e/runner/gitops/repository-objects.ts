/** Objects that users commit to the repositories of a runtime. */

/** A ConfigMap, which shows where a folder is applied. */
export function configMap(name: string): string {
  return `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\ndata:\n  from: git\n`
}

/** What users have: an application, whose source does not exist. */
export const SHOP = `apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  name: shop
spec:
  project: default
  source: { repoURL: 'https://git.example.com/acme/shop.git', path: ., targetRevision: main }
  destination: { server: 'https://kubernetes.default.svc', namespace: shop }
`

export interface GitApplication {
  /** URL of the repository. */
  readonly repository: string
  readonly project: string
  readonly path: string
  /** In YAML. */
  readonly destination: string
}

/** An application that Argo CD syncs from `main`. */
export function applicationOf(name: string, { repository, project, path, destination }: GitApplication): string {
  return `apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: { name: ${name} }
spec:
  project: ${project}
  source: { repoURL: '${repository}', path: ${path}, targetRevision: main }
  destination: ${destination}
  syncPolicy: { automated: {} }
`
}
