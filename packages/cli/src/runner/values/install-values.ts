/** The values of an installation, merged from a file, `--set-file`, `--set-value` and flags; later ones take precedence. */
import { fault } from '@windlass/kit/faults'
import { isRecord } from '@windlass/kit/json'
import { parse } from 'yaml'
import { readInput } from '../../input/input-files.ts'
import { checkChartValues } from './chart-keys.ts'
import { checkInstallerValues, InstallerValues } from './installer-values.ts'
import { mergeTrees, parseValuesFile, pruneTree, setValue, splitPair, typedValue, type Tree } from './read-values.ts'

/** Flags of `runner init` and related commands that set a value. */
export interface ValueFlags {
  readonly url?: string | undefined
  readonly kubeContextName?: string | undefined
  readonly kubeNamespace?: string | undefined
  readonly kubeConfigPath?: string | undefined
  readonly inCluster?: boolean | undefined
  readonly kubeNodeSelector?: string | undefined
  readonly buildNodeSelector?: string | undefined
  readonly tolerations?: string | undefined
  readonly storageClassName?: string | undefined
  readonly dockerRegistry?: string | undefined
  readonly values?: string | undefined
  readonly setValue?: readonly string[] | undefined
  readonly setFile?: readonly string[] | undefined
  readonly skipClusterTest?: boolean | undefined
  readonly skipClusterIntegration?: boolean | undefined
  readonly installMonitor?: boolean | undefined
  readonly httpProxy?: string | undefined
  readonly httpsProxy?: string | undefined
  readonly noProxy?: string | undefined
  readonly envVars?: readonly string[] | undefined
  readonly appProxyHost?: string | undefined
  readonly appProxyIngressClass?: string | undefined
  readonly dockerDaemonAccess?: boolean | undefined
  readonly runtimeName?: string | undefined
  readonly clusterId?: string | undefined
  readonly buildAnnotations?: readonly string[] | undefined
}

export interface InstallValues {
  readonly installer: InstallerValues
  /** Chart values, which take precedence over converted installer values. */
  readonly chart: Tree
}

/** Reads and merges all values. Throws `usage`, `file-not-found`, `document-invalid`. */
export function readInstallValues(flags: ValueFlags): InstallValues {
  const layers = [fromFile(flags.values), fromSetFile(flags.setFile), fromSetValue(flags.setValue), fromFlags(flags)]
  const merged = layers.reduce(mergeTrees, {})
  const isChart = (key: string): boolean => !(key in InstallerValues.shape) && /^[a-z]/.test(key)
  const pick = (wanted: boolean): Tree => Object.fromEntries(Object.entries(merged).filter(([key]) => isChart(key) === wanted))
  const source = flags.values ?? 'the command line'
  return {
    installer: checkInstallerValues(pick(false), source),
    chart: mergeTrees(annotationsOf(flags), checkChartValues(pick(true), source)),
  }
}

/** Returns chart values for annotations of build pods, which have no installer value. */
function annotationsOf({ buildAnnotations = [] }: ValueFlags): Tree {
  if (buildAnnotations.length === 0) return {}
  const podAnnotations = Object.fromEntries(buildAnnotations.map((pair) => splitPair(pair, '--build-annotations')))
  return { runtime: { engine: { podAnnotations }, dind: { podAnnotations } } }
}

function fromFile(path: string | undefined): Tree {
  if (path === undefined) return {}
  const { name, text } = readInput(path)
  return parseValuesFile(text, name)
}

function fromSetValue(pairs: readonly string[] = []): Tree {
  let tree: Tree = {}
  for (const pair of pairs) {
    const [key, value] = splitPair(pair, '--set-value')
    tree = setValue(tree, key, typedValue(value))
  }
  return tree
}

function fromSetFile(pairs: readonly string[] = []): Tree {
  let tree: Tree = {}
  for (const pair of pairs) {
    const [key, path] = splitPair(pair, '--set-file')
    tree = setValue(tree, key, readInput(path).text)
  }
  return tree
}

function fromFlags(flags: ValueFlags): Tree {
  const proxies = { HTTP_PROXY: flags.httpProxy, HTTPS_PROXY: flags.httpsProxy, NO_PROXY: flags.noProxy }
  const variables = Object.fromEntries((flags.envVars ?? []).map((pair) => splitPair(pair, '--env-vars')))
  const values = {
    CodefreshHost: flags.url,
    Context: flags.kubeContextName,
    Namespace: flags.kubeNamespace,
    ConfigPath: flags.kubeConfigPath,
    InCluster: flags.inCluster,
    NodeSelector: flags.kubeNodeSelector,
    Tolerations: flags.tolerations === undefined ? undefined : readTolerations(flags.tolerations),
    StorageClass: flags.storageClassName,
    DockerRegistry: flags.dockerRegistry,
    SkipClusterTest: flags.skipClusterTest,
    SkipClusterIntegration: flags.skipClusterIntegration,
    RuntimeEnvironmentName: flags.runtimeName,
    ClusterId: flags.clusterId,
    EnvVars: { ...variables, ...proxies },
    Monitor: { Enabled: flags.installMonitor },
    Runtime: { NodeSelector: flags.buildNodeSelector },
    AppProxy: { Ingress: { Host: flags.appProxyHost, IngressClass: flags.appProxyIngressClass } },
    dockerDaemonScheduler: { userAccess: flags.dockerDaemonAccess },
  }
  return pruneTree(values)
}

/** Parses a JSON or YAML list of tolerations, or reads it from `@file`. Throws `usage`. */
export function readTolerations(given: string): Tree[] {
  const text = given.startsWith('@') ? readInput(given.slice(1)).text : given
  let value: unknown
  try {
    value = parse(text, { maxAliasCount: 0 })
  } catch {
    value = undefined
  }
  if (Array.isArray(value) && value.every(isRecord)) return value
  throw fault('usage', {
    message: '--tolerations takes a list of tolerations.',
    hint: `Write \`--tolerations '[{"key":"runner","operator":"Exists"}]'\`, or name a file: \`--tolerations @tolerations.json\`.`,
  })
}
