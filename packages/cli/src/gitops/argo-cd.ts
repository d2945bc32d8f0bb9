/** The Argo CD beside a GitOps runtime, which its chart does not bring: where its server is, and whether its version is supported. */
import { isIP } from 'node:net'
import { nodeTransport, proxyFrom } from '@windlass/kit'
import { isFault } from '@windlass/kit/faults'
import { parseJson } from '@windlass/kit/json'
import type { Finding, Kube } from '@windlass/kube'
import { z } from 'zod'
import { valueAt, type Tree } from '../runner/values/read-values.ts'

/** The oldest version whose fields and annotations the runtime uses, and the newest one that is tested with it. */
const OLDEST = { major: 3, minor: 0 } as const
const NEWEST = { major: 3, minor: 6 } as const
const TESTED = `${OLDEST.major}.${OLDEST.minor} to ${NEWEST.major}.${NEWEST.minor}`
/** Labels of the Service, as the manifests and the chart of Argo CD have them. */
export const ARGO_SERVER_LABELS = 'app.kubernetes.io/component=server,app.kubernetes.io/part-of=argocd'
/** Where the manifests and the chart of Argo CD set the options of its server. */
const PARAMETERS = 'argocd-cmd-params-cm'
const ANSWER_MS = 15_000
const SKIP = 'To install without this check, set installer.argoCdVersionCheck.enabled to false.'

/** What values say about the server of Argo CD. */
export interface ArgoServer {
  /** Name of its Service, with `.NAMESPACE` if that is another one, or a host. Undefined: the Service with the labels. */
  readonly service: string | undefined
  readonly port: number | undefined
  readonly protocol: 'http' | 'https' | undefined
  readonly rootPath: string | undefined
  /** Selector of the Service. */
  readonly labels: string
}

/** Where the server is. */
interface Place {
  readonly namespace: string
  /** Name of the Service, or a host. */
  readonly name: string
  /** Address in the cluster, without DNS if there is a Service. */
  readonly host: string
  readonly port: number
  readonly isSecure: boolean
  /** Empty, or with a slash at its begin. */
  readonly path: string
}

/** Returns the answer of the server to a GET of a path. */
type Ask = (place: Place, path: string) => Promise<string>

/** Returns what values of the chart say; undefined if they switch the check off. Pure. */
export function argoServerIn(values: Tree): ArgoServer | undefined {
  if (valueAt(values, ['installer', 'argoCdVersionCheck', 'enabled']) === false) return undefined
  const at = (...path: string[]): unknown => valueAt(values, ['global', 'integrations', 'argo-cd', 'server', ...path])
  const text = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)
  const isUsed = text(at('auth', 'tokenSecretKeyRef', 'name')) !== undefined
  const port = Number(at('port') ?? Number.NaN)
  const protocol = at('protocol')
  const labels = z
    .record(z.string(), z.string())
    .safeParse(valueAt(values, ['installer', 'argoCdVersionCheck', 'argoServerLabels']))
  const given = Object.entries(labels.data ?? {}).map(([label, value]) => `${label}=${value}`)
  return {
    service: text(at('svc')) ?? (isUsed ? 'argocd-server' : undefined),
    port: Number.isInteger(port) ? port : undefined,
    protocol: protocol === 'http' || protocol === 'https' ? protocol : undefined,
    rootPath: text(at('rootpath')),
    labels: given.length === 0 ? ARGO_SERVER_LABELS : given.join(','),
  }
}

/** Asks the server of Argo CD for its version through the API server of the cluster. The permission for that is not part of an installation, so without it the version is not known. */
export function throughCluster(kube: Kube): Ask {
  return ({ namespace, name, port, isSecure }, path) => kube.fromService({ namespace, name, port, isSecure }, path)
}

/** Asks from a pod. The version is no secret, and is asked for without credentials, so any certificate will do. */
export function fromPod(): Ask {
  const transport = nodeTransport({ insecure: true, proxy: proxyFrom({}), connectMs: 5_000 })
  return async ({ host, port, isSecure }, path) => {
    const url = `${isSecure ? 'https' : 'http'}://${host}:${port}${path}`
    const answer = await transport({ method: 'GET', url, headers: {}, timeoutMs: ANSWER_MS })
    const text = await answer.text()
    if (answer.status !== 200) throw new Error(`${url} answered with the status ${answer.status}`)
    return text
  }
}

export interface ArgoCheck {
  /** Namespace of the runtime. */
  readonly namespace: string
  /** Undefined: nothing is checked. */
  readonly server: ArgoServer | undefined
  readonly ask: Ask
}

/** Checks the version of Argo CD. One that is not there yet is a warning: the runtime can be installed first. */
export async function checkArgoCd(kube: Kube, { namespace, server, ask }: ArgoCheck): Promise<Finding[]> {
  if (server === undefined) return []
  const check = 'argo-cd'
  let place: Place | undefined
  try {
    place = await locate(kube, namespace, server)
    if (place === undefined)
      return [
        {
          check,
          status: 'warn',
          message: `The namespace ${namespace} has no server of Argo CD.`,
          hint: `Install Argo CD ${OLDEST.major}.${OLDEST.minor} or later: the runtime operates applications of its own namespace.`,
        },
      ]
    return [evaluateArgoCd(await ask(place, `${place.path}/api/version`), place)]
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    const isForbidden = isFault(error, 'cluster-refused') && error.details['httpStatus'] === 403
    const isNamed = server.service !== undefined && !isForbidden
    const where = place === undefined ? '' : ` at ${nameOf(place)}`
    return [
      {
        check,
        status: isNamed ? 'fail' : 'warn',
        message: `The version of Argo CD${where} is not known: ${why}.`.replace(/\.\.$/, '.'),
        hint: `Check svc, port, protocol and rootpath of global.integrations.argo-cd.server. ${SKIP}`,
      },
    ]
  }
}

const Version = z.object({ Version: z.string() })

/** Evaluates the answer of `/api/version`. Pure. */
export function evaluateArgoCd(answer: string, place: Pick<Place, 'name' | 'namespace' | 'port' | 'path'>): Finding {
  const check = 'argo-cd'
  const where = nameOf(place)
  const text = Version.safeParse(parseJson(answer)).data?.Version
  const found = /^v?(\d+)\.(\d+)\.\S+/.exec(text ?? '')
  if (text === undefined || found === null) throw new Error(`${where} does not answer as the server of Argo CD`)
  const [major, minor] = [Number(found[1]), Number(found[2])]
  const isBefore = (other: { readonly major: number; readonly minor: number }): boolean =>
    major < other.major || (major === other.major && minor < other.minor)
  if (isBefore(OLDEST))
    return {
      check,
      status: 'fail',
      message: `${where} is Argo CD ${text}. A GitOps runtime needs ${OLDEST.major}.${OLDEST.minor} or later; ${TESTED} are tested.`,
      hint: `Upgrade Argo CD first. ${SKIP}`,
    }
  if (isBefore({ ...NEWEST, minor: NEWEST.minor + 1 })) return { check, status: 'pass', message: `Argo CD ${text} at ${where}` }
  return {
    check,
    status: 'warn',
    message: `${where} is Argo CD ${text}, which is newer than the versions that are tested: ${TESTED}.`,
    hint: 'Try it with a runtime that nobody depends on first.',
  }
}

function nameOf({ name, port, path }: Pick<Place, 'name' | 'port' | 'path'>): string {
  return `${name}:${port}${path}`
}

const Service = z.looseObject({
  metadata: z.looseObject({ name: z.string() }),
  spec: z.looseObject({ clusterIP: z.string().optional() }),
})
const Parameters = z.looseObject({ data: z.record(z.string(), z.string()).nullish() })

/** Returns where the server is: as it is named, or the Service with the labels, with the options that its parameters have. */
async function locate(kube: Kube, namespace: string, server: ArgoServer): Promise<Place | undefined> {
  const { service, port, protocol, rootPath } = server
  if (service !== undefined) {
    const isSecure = (protocol ?? (port === 443 ? 'https' : 'http')) === 'https'
    const [name = '', other = namespace] = isIP(service) === 0 ? service.split('.') : [service]
    const isElsewhere = other !== namespace || isIP(service) !== 0
    const found = isElsewhere ? undefined : await kube.find({ kind: 'Service', namespace, name })
    const host = addressOf(found) ?? service
    return { namespace: other, name, host, port: port ?? (isSecure ? 443 : 80), isSecure, path: pathOf(rootPath) }
  }
  const all = await kube.list({ kind: 'Service', namespace, labels: server.labels })
  const found = all.find(({ metadata }) => !metadata.name.endsWith('-metrics'))
  if (found === undefined) return undefined
  const parameters = Parameters.safeParse(await kube.find({ kind: 'ConfigMap', namespace, name: PARAMETERS })).data?.data ?? {}
  const isSecure = parameters['server.insecure'] !== 'true'
  const { name } = found.metadata
  const path = pathOf(parameters['server.rootpath'])
  return { namespace, name, host: addressOf(found) ?? name, port: isSecure ? 443 : 80, isSecure, path }
}

/** Returns the address of a Service; undefined for one without an address. */
function addressOf(object: unknown): string | undefined {
  const address = Service.safeParse(object).data?.spec.clusterIP
  return address === undefined || isIP(address) === 0 ? undefined : address
}

/** Returns a path without a slash at its end. */
function pathOf(rootPath = ''): string {
  const path = rootPath.replace(/^\/+|\/+$/g, '')
  return path === '' ? '' : `/${path}`
}
