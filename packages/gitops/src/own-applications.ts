/** Which applications of a namespace are those of its GitOps runtime, and not of users. */
import { IN_CLUSTER } from './layout.ts'
import { ENTITY_LABEL, runtimeApplicationName } from './runtime-files.ts'

/** Values of `ENTITY_LABEL`: what applies the repository, the chart of the runtime, Git sources, and installations of Argo Rollouts. */
const OWN_ENTITIES = ['internal-config', 'runtime', 'git-source', 'argo-rollouts']

/** What is read of an application. */
interface LabelledApplication {
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> | undefined }
}

/**
 * Returns the names of the applications of a runtime, in the order in which they are removed: the one that applies the folder of the runtime would create the others again, and
 * `in-cluster` the Git sources and the chart.
 */
export function ownApplications(applications: readonly LabelledApplication[], runtime: string): string[] {
  const own = applications.filter(({ metadata: { labels } }) => OWN_ENTITIES.includes(labels?.[ENTITY_LABEL] ?? ''))
  const first = [runtimeApplicationName(runtime), IN_CLUSTER]
  const rank = (name: string): number => (first.includes(name) ? first.indexOf(name) : first.length)
  return own.map(({ metadata }) => metadata.name).toSorted((one, other) => rank(one) - rank(other))
}
