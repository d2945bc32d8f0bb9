/** Diagnostics of a Runner for support, without secrets. Pure, except `collect`. */
import { hideLogin, hideProxyLogin } from '@windlass/kit'
import { isRecord } from '@windlass/kit/json'
import type { Kube, Kind, KubeObject } from '@windlass/kube'
import { stringify } from 'yaml'
import { z } from 'zod'

const NAMESPACED: readonly Kind[] = [
  'Pod',
  'PersistentVolumeClaim',
  'Deployment',
  'DaemonSet',
  'CronJob',
  'Job',
  'ConfigMap',
  'Service',
  'ServiceAccount',
  'Role',
  'RoleBinding',
  'Event',
  'ResourceQuota',
]
const WIDE: readonly Kind[] = ['PersistentVolume', 'StorageClass', 'Node']
/** Number of log lines per container. */
const LOG_LINES = 500
const HIDDEN = '[hidden]'

/** Collects the files of the bundle: path and text. The file of an unavailable part contains the error. */
export async function collect(kube: Kube, namespace: string): Promise<Map<string, string>> {
  const files = new Map<string, string>()
  files.set('version.txt', await orError(() => kube.version()))
  for (const kind of NAMESPACED)
    files.set(`${namespace}/${kind.toLowerCase()}.yaml`, await orError(async () => toText(await kube.list({ kind, namespace }))))
  for (const kind of WIDE)
    files.set(`cluster/${kind.toLowerCase()}.yaml`, await orError(async () => toText(await kube.list({ kind }))))
  const secrets = await orError(async () => toText(await kube.list({ kind: 'Secret', namespace, content: 'metadata' })))
  files.set(`${namespace}/secret-names.yaml`, secrets)
  for (const [path, text] of await collectLogs(kube, namespace)) files.set(path, text)
  return files
}

const PodShape = z.looseObject({
  metadata: z.looseObject({ name: z.string() }),
  spec: z.looseObject({
    containers: z.array(z.looseObject({ name: z.string() })),
    initContainers: z.array(z.looseObject({ name: z.string() })).default([]),
  }),
})

async function collectLogs(kube: Kube, namespace: string): Promise<[string, string][]> {
  const pods = await kube.list({ kind: 'Pod', namespace }).catch((): KubeObject[] => [])
  const logs: [string, string][] = []
  for (const pod of pods) {
    const { metadata, spec } = PodShape.parse(pod)
    for (const { name } of [...spec.initContainers, ...spec.containers]) {
      const read = (): Promise<string> =>
        kube.logs({ kind: 'Pod', namespace, name: metadata.name }, { container: name, tailLines: LOG_LINES })
      logs.push([`${namespace}/logs/${metadata.name}.${name}.log`, hideTokens(await orError(read))])
    }
  }
  return logs
}

async function orError(read: () => Promise<string>): Promise<string> {
  try {
    return await read()
  } catch (error) {
    return `not available: ${error instanceof Error ? error.message : String(error)}\n`
  }
}

function toText(objects: readonly KubeObject[]): string {
  return hideTokens(
    stringify(
      objects.map((object) => hideSecrets(object)),
      { lineWidth: 0 },
    ),
  )
}

const SECRET_NAME = /token|secret|password|passwd|credential|api.?key|access.?key|private.?key|license/i
const HARMLESS_NAME = /secretKeyRef|secretName|imagePullSecrets|automountServiceAccountToken|tokenExpirationSeconds|^secrets?$/i

const PROXY_NAME = /_proxy$/i

/** Returns the object without managed fields, and with values hidden whose names suggest a secret. Also hides the logins of proxies. */
export function hideSecrets(value: unknown, name = ''): unknown {
  if (typeof value === 'string' && SECRET_NAME.test(name) && !HARMLESS_NAME.test(name)) return HIDDEN
  if (typeof value === 'string' && PROXY_NAME.test(name)) return hideProxyLogin(value)
  if (Array.isArray(value)) return value.map((item) => hideSecrets(item, name))
  if (!isRecord(value)) return value
  // An environment variable of a container has its name in a sibling field.
  const own = typeof value['name'] === 'string' && typeof value['value'] === 'string' ? value['name'] : undefined
  const entries = Object.entries(value).filter(([key]) => key !== 'managedFields' && !key.endsWith('last-applied-configuration'))
  return Object.fromEntries(
    entries.map(([key, inner]) => {
      if (key === 'value' && own !== undefined) return [key, hideSecrets(inner, own)]
      return [key, hideSecrets(inner, key)]
    }),
  )
}

/** Hides tokens by their format: Windlass and Codefresh tokens, JSON web tokens, credentials in URLs, private keys. */
export function hideTokens(text: string): string {
  return hideLogin(text)
    .replaceAll(/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?-----END [A-Z ]*PRIVATE KEY-----/g, HIDDEN)
    .replaceAll(/\b[0-9a-f]{24}\.[A-Za-z0-9_-]{16,}/g, HIDDEN)
    .replaceAll(/\beyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+/g, HIDDEN)
    .replaceAll(/\b([Bb]earer|[Bb]asic) [A-Za-z0-9._~+/=-]{12,}/g, `$1 ${HIDDEN}`)
}
