/**
 * The chart of a runtime that is an Argo CD application: a chart of its own in the shared repository, whose only dependency is the chart of the runtime. A new version is
 * a commit.
 */
import type { RuntimeChart } from '@windlass/protocol'
import { z } from 'zod'
import { below, COMMON_FOLDERS, RESOURCES, runtimeFolder } from './layout.ts'
import {
  ENTITY_LABEL,
  IN_CLUSTER_SERVER,
  INTERNAL_LABEL,
  SYNC_POLICY,
  type RuntimePlace,
  type SharedPlace,
} from './runtime-files.ts'
import { editYaml, openYaml, toYaml, type Manifest } from './yaml.ts'

/** Returns the folder of the chart. It is outside of what `in-cluster` applies, because its files are not Kubernetes objects. Undefined for a name that another folder has. */
export function chartFolder(runtime: string): string | undefined {
  return COMMON_FOLDERS.includes(runtime) ? undefined : `${RESOURCES}/${runtime}/chart`
}

/** Returns the path of the application that installs the chart. */
export function chartApplicationPath(runtime: string): string {
  return `${runtimeFolder(runtime)}/${runtime}.yaml`
}

/** Returns the application that installs the chart. `folder`: of the chart. */
export function chartApplicationFile(shared: SharedPlace, { runtime, namespace }: RuntimePlace, folder: string): string {
  const application: Manifest = {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Application',
    metadata: { name: runtime, namespace, labels: { [ENTITY_LABEL]: 'runtime', [INTERNAL_LABEL]: 'true' } },
    spec: {
      project: 'default',
      source: { repoURL: shared.clone, path: below(shared.path, folder), targetRevision: shared.branch },
      destination: { namespace, server: IN_CLUSTER_SERVER },
      syncPolicy: SYNC_POLICY,
    },
  }
  return toYaml(application)
}

/** Splits the URL of a chart into what Helm calls its repository and its name. */
export function splitChart(chart: string): { readonly repository: string; readonly name: string } {
  const slash = chart.lastIndexOf('/')
  return { repository: chart.slice(0, slash), name: chart.slice(slash + 1) }
}

/** Returns `Chart.yaml`. */
export function chartFile({ chart, version }: RuntimeChart, runtime: string): string {
  const { repository, name } = splitChart(chart)
  return toYaml({ apiVersion: 'v2', name: runtime, version, dependencies: [{ name, repository, version }] })
}

/** Returns `values.yaml`: the values of the chart of the runtime, under its name. */
export function chartValuesFile(chart: string, values: Readonly<Record<string, unknown>>): string {
  return toYaml({ [splitChart(chart).name]: values })
}

const Chart = z.looseObject({
  version: z.string(),
  dependencies: z.array(z.looseObject({ name: z.string(), repository: z.string(), version: z.string() })).min(1),
})

/** Returns the chart that `Chart.yaml` installs. Undefined for another file. Of several dependencies the first one is that of the runtime. */
export function readChart(text: string): RuntimeChart | undefined {
  const chart = Chart.safeParse(valueOf(text)).data
  const [dependency] = chart?.dependencies ?? []
  if (chart === undefined || dependency === undefined) return undefined
  return { chart: `${dependency.repository}/${dependency.name}`, version: dependency.version }
}

function valueOf(text: string): unknown {
  try {
    return openYaml(text)?.toJS({ maxAliasCount: 0 })
  } catch {
    return undefined
  }
}

/** Returns `Chart.yaml` with another version or chart. Further dependencies and comments stay. Undefined for another file. */
export function editChart(text: string, wanted: RuntimeChart): string | undefined {
  const before = readChart(text)
  if (before === undefined) return undefined
  if (before.chart === wanted.chart && before.version === wanted.version) return text
  const { repository, name } = splitChart(wanted.chart)
  return editYaml(text, [
    [['version'], wanted.version],
    [['dependencies', 0, 'name'], name],
    [['dependencies', 0, 'repository'], repository],
    [['dependencies', 0, 'version'], wanted.version],
  ])
}
