/** What the Git source of an application allows it: its namespace, and for a restricted one its project, its repositories and where it deploys to. */
import type { GitSource } from '@windlass/protocol'
import type { ApplicationShape } from './application-shape.ts'
import type { ManifestProblem } from './check-application.ts'
import { matchesGlob } from './glob.ts'
import { IN_CLUSTER } from './layout.ts'
import { IN_CLUSTER_SERVER, type RuntimePlace } from './runtime-files.ts'

/** Where applications of a Git source are. */
export interface ApplicationHome {
  readonly namespace: string
  readonly project: string
}

/** Returns the namespace and the project that applications of a Git source have. `namespace`: that of the runtime. */
export function homeOf(source: GitSource, namespace: string): ApplicationHome {
  if (source.type === 'standard') return { namespace, project: 'default' }
  return { namespace: source.sourceNamespace ?? '', project: source.name }
}

/** Returns what an application must not have in this Git source of a runtime. */
export function problemsInGitSource(
  application: ApplicationShape,
  source: GitSource,
  { namespace, isHosted }: Pick<RuntimePlace, 'namespace' | 'isHosted'>,
): ManifestProblem[] {
  const { metadata, spec } = application
  const home = homeOf(source, namespace)
  const problems: ManifestProblem[] = []
  if (isHosted === true && isOwnCluster(spec.destination))
    problems.push({
      path: 'spec.destination',
      message: 'A hosted GitOps runtime deploys nothing to its own cluster, which is that of the server.',
      hint: 'Name a managed cluster: `windlass gitops cluster list RUNTIME`.',
    })
  if (metadata.namespace !== undefined && metadata.namespace !== home.namespace)
    problems.push({
      path: 'metadata.namespace',
      message: `The applications of the Git source "${source.name}" are in the namespace ${home.namespace}, not in ${metadata.namespace}.`,
      hint: 'Remove the field, or write that namespace.',
    })
  if (source.type === 'standard') return problems
  if (metadata.namespace === undefined)
    problems.push({
      path: 'metadata',
      message: `The applications of the restricted Git source "${source.name}" name their namespace.`,
      hint: `Add namespace: ${home.namespace}.`,
    })
  if (spec.project !== home.project)
    problems.push({
      path: 'spec.project',
      message: `The applications of the restricted Git source "${source.name}" have the project ${home.project}, not ${spec.project}.`,
      hint: `Write project: ${home.project}.`,
    })
  const repositories = [
    spec.source?.repoURL,
    ...(spec.sources ?? []).map(({ repoURL }) => repoURL),
    spec.sourceHydrator?.drySource.repoURL,
  ]
  for (const repository of repositories)
    if (repository !== undefined && !(source.sourceRepos ?? ['*']).some((pattern) => isRepository(pattern, repository)))
      problems.push({
        path: spec.source === undefined ? 'spec' : 'spec.source.repoURL',
        message: `The Git source "${source.name}" does not allow the repository ${repository}.`,
        hint: `It allows ${(source.sourceRepos ?? []).join(', ')}.`,
      })
  const allowed = source.destinations ?? []
  if (!allowed.some((destination) => isDestination(destination, spec.destination)))
    problems.push({
      path: 'spec.destination',
      message: `The Git source "${source.name}" does not allow the namespace ${spec.destination.namespace ?? ''} of ${spec.destination.server ?? spec.destination.name ?? ''}.`,
      hint: `It allows ${allowed.map(({ name, server, namespace }) => `${name ?? server ?? ''}/${namespace}`).join(', ') || 'none'}.`,
    })
  return problems
}

/** As Argo CD compares them: without the end of a clone URL, and without case. */
function isRepository(pattern: string, repository: string): boolean {
  const plain = (url: string): string =>
    url
      .toLowerCase()
      .replace(/\/+$/, '')
      .replace(/\.git$/, '')
  return pattern === '*' || matchesGlob(plain(pattern), plain(repository), '/')
}

function isOwnCluster({ server, name }: Pick<ApplicationShape['spec']['destination'], 'server' | 'name'>): boolean {
  return name === IN_CLUSTER || server === IN_CLUSTER_SERVER
}

type Allowed = NonNullable<GitSource['destinations']>[number]

function isDestination(allowed: Allowed, { server, name, namespace = '' }: ApplicationShape['spec']['destination']): boolean {
  if (!matchesGlob(allowed.namespace, namespace)) return false
  // The own cluster has both a name and a URL.
  const isOwn = isOwnCluster({ server, name })
  const [ownName, ownServer] = isOwn ? [IN_CLUSTER, IN_CLUSTER_SERVER] : [name ?? '', server ?? '']
  if (allowed.name !== undefined) return allowed.name === '*' || (ownName !== '' && matchesGlob(allowed.name, ownName))
  return allowed.server !== undefined && (allowed.server === '*' || (ownServer !== '' && matchesGlob(allowed.server, ownServer)))
}
