/** Values of the chart of a GitOps runtime: those that the user gives, and those that an installation knows. */
import { defined } from '@windlass/kit'
import { fault } from '@windlass/kit/faults'
import { readInput } from '../input/input-files.ts'
import {
  mergeTrees,
  parseValuesFile,
  pruneTree,
  setValue,
  splitPair,
  typedValue,
  valueAt,
  type Tree,
} from '../runner/values/read-values.ts'
import { TOKEN_SECRET } from './token-secret.ts'

export interface ValueFlags {
  readonly values?: string | undefined
  readonly setValue: readonly string[]
  readonly ingressHost?: string | undefined
  readonly ingressClass?: string | undefined
  /** True for a runtime in the cluster of the server. */
  readonly hosted?: boolean | undefined
}

/** Values of the chart that are whole numbers. Others may look like one, such as a tag of an image. */
const COUNTS = /(?:^|\.)(?:replicaCount|port|runAsUser|runAsGroup|fsGroup)$/

/** Returns the values of the file, with the options above them. Throws `document-invalid`, `usage`. */
export function readRuntimeValues(flags: ValueFlags): Tree {
  const file = flags.values === undefined ? {} : parseFile(flags.values)
  const { ingressHost, ingressClass } = flags
  if (ingressClass !== undefined && ingressHost === undefined)
    throw fault('usage', { message: '--ingress-class needs --ingress-host.', hint: 'Add the host of the runtime.' })
  const ingress =
    ingressHost === undefined ? {} : { enabled: true, hosts: [ingressHost], ...defined({ className: ingressClass }) }
  const hosted = flags.hosted === true ? { codefreshHosted: true } : {}
  const withIngress = mergeTrees(file, pruneTree({ global: { runtime: { ingress, ...hosted } } }))
  return flags.setValue.reduce((tree, pair) => {
    const [name, text] = splitPair(pair, '--set-value')
    return setValue(tree, name, COUNTS.test(name) && /^\d{1,9}$/.test(text) ? Number(text) : typedValue(text))
  }, withIngress)
}

function parseFile(path: string): Tree {
  const { name, text } = readInput(path)
  return parseValuesFile(text, name)
}

/** How callers reach a runtime: as the template `gitops.access` of the chart decides. */
export interface Access {
  readonly kind: 'ingress' | 'httproute' | 'tunnel' | 'url'
  /** URL that the values name; undefined for a tunnel. */
  readonly url: string | undefined
  /** True if the URL must answer before the installation. */
  readonly isChecked: boolean
}

/** Returns how callers reach a runtime with these values. Pure. */
export function accessOf(values: Tree): Access {
  const at = (...path: readonly string[]): unknown => valueAt(values, path)
  const isOn = (...path: readonly string[]): boolean => at(...path) === true
  const urlOf = (key: string, hosts: string): string | undefined => {
    const list = at('global', 'runtime', key, hosts)
    const first: unknown = Array.isArray(list) ? list[0] : undefined
    const protocol = at('global', 'runtime', key, 'protocol') ?? 'https'
    return typeof first === 'string' && typeof protocol === 'string' ? `${protocol}://${first}` : undefined
  }
  const isChecked = (key: string): boolean =>
    !isOn('global', 'runtime', key, 'skipValidation') && !isOn('installer', 'skipValidation')
  if (isOn('global', 'runtime', 'ingress', 'enabled'))
    return { kind: 'ingress', url: urlOf('ingress', 'hosts'), isChecked: isChecked('ingress') }
  if (isOn('global', 'runtime', 'httpRoute', 'enabled'))
    return { kind: 'httproute', url: urlOf('httpRoute', 'hostnames'), isChecked: isChecked('httpRoute') }
  if (at('tunnel-client', 'enabled') !== false) return { kind: 'tunnel', url: undefined, isChecked: false }
  const url = at('global', 'runtime', 'ingressUrl')
  return { kind: 'url', url: typeof url === 'string' && url !== '' ? url : undefined, isChecked: false }
}

/** Returns whether the runtime operates workflows of Argo Workflows with these values. Pure. */
export function operatesWorkflows(values: Tree): boolean {
  return valueAt(values, ['app-proxy', 'workflows', 'enabled']) === true
}

/** Returns whether the chart installs the workflow that reports images. Pure. */
export function reportsImages(values: Tree): boolean {
  return valueAt(values, ['app-proxy', 'image-enrichment', 'enabled']) === true
}

/** What an installation knows about its runtime. */
export interface RuntimeFacts {
  readonly name: string
  /** Base URL of the server for pods. */
  readonly serverUrl: string
  readonly accountId: string
  /** Where the server shows the runtime; undefined if it has no domain for tunnels. */
  readonly url: string | undefined
  /** PEM of a private CA of the server. */
  readonly ca: string | undefined
}

/** Returns the values for what is known. Values of the user go above them. Pure. */
export function factValues({ name, serverUrl, accountId, url, ca }: RuntimeFacts): Tree {
  const tls = ca === undefined ? {} : { caCerts: { secret: { create: true, content: ca } } }
  return pruneTree({
    global: {
      codefresh: { url: serverUrl, accountId, tls },
      runtime: { name, tokenSecret: TOKEN_SECRET.name },
    },
    'tunnel-client': { tunnelServer: { subdomainHost: url === undefined ? undefined : domainOf(url) } },
  })
}

/** Returns the domain of the tunnels, with a port if it has one: the host of a runtime without its first label. Pure. */
export function domainOf(url: string): string {
  const { host } = new URL(url)
  return host.slice(host.indexOf('.') + 1)
}

/** Returns the base URL that the tunnel client connects to: as the template `gitops.registerUrl` of the chart decides. Undefined if the values lack it. Pure. */
export function registerUrlIn(values: Tree): string | undefined {
  const server = (key: string): string | undefined => {
    const value = valueAt(values, ['tunnel-client', 'tunnelServer', key])
    return typeof value === 'string' && value !== '' ? value : undefined
  }
  const domain = server('subdomainHost')
  const host = server('host') ?? (domain === undefined ? undefined : `register.${domain}`)
  return host === undefined || host.includes('://') ? host : `https://${host}`
}

/** Returns true if values make the runtime a hosted one. Pure. */
export function isHostedIn(values: Tree): boolean {
  return valueAt(values, ['global', 'runtime', 'codefreshHosted']) === true
}

/** Returns the name of the runtime in values; undefined if they have none. Pure. */
export function nameIn(values: Tree | undefined): string | undefined {
  const name = valueAt(values, ['global', 'runtime', 'name'])
  return typeof name === 'string' && name !== '' ? name : undefined
}
