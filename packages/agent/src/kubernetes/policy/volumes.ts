/** Shapes of the volumes of a pod: its own Secret, disk and empty folders, ConfigMaps, and what the owner of the cluster allows. */
import { isRecord } from '@windlass/kit/json'
import { DAEMON_CERTIFICATE, objectNames, SECRET_KEY } from '@windlass/protocol'
import { allowedBy, isAllowed, type Scope } from './agent-policy.ts'
import { claimSpecShape } from './claim.ts'
import type { Role } from './metadata.ts'
import {
  all,
  anyValue,
  at,
  flag,
  oneOf,
  list,
  mapping,
  NO_SETTING,
  quote,
  record,
  text,
  integer,
  type Place,
  type Shape,
} from './shape.ts'

/** Keys of the Secret of an attempt that each pod mounts. */
const OWN_KEYS: Readonly<Record<string, readonly string[]>> = {
  engine: [SECRET_KEY.bootstrap, SECRET_KEY.serverCa, SECRET_KEY.ca, SECRET_KEY.clientCert, SECRET_KEY.clientKey],
  dind: [SECRET_KEY.ca, SECRET_KEY.serverCert, SECRET_KEY.serverKey],
}
const ITEMS = list(record({ key: text(), path: text(insidePath), mode: integer() }, ['key', 'path']))
const QUANTITY = text((value) => (/^[0-9.]+[A-Za-z]{0,2}$/.test(value) ? undefined : 'must be a quantity such as 2Gi.'))

/** Returns the shape of a volume: its name and one source. */
export function volumeShape(role: Role, scope: Scope): Shape {
  const sources = sourcesOf(role, scope)
  return (value, place) => {
    if (!isRecord(value)) return place.refuse(place.path, `must be a mapping, not ${quote(value)}.`)
    const kinds = Object.keys(value).filter((key) => key !== 'name')
    if (kinds.length !== 1) place.refuse(place.path, `must have one source, but has ${kinds.length}.`)
    text()(value['name'], at(place, 'name'))
    for (const kind of kinds) {
      const shape = Object.hasOwn(sources, kind) ? sources[kind] : allowedSource(kind, scope)
      shape?.(value[kind], at(place, kind))
    }
  }
}

function sourcesOf(role: Role, scope: Scope): Readonly<Record<string, Shape>> {
  const rest = { defaultMode: integer(), items: ITEMS, optional: flag }
  const claim = objectNames(scope.attempt.buildId, scope.attempt.attempt).claim
  return {
    emptyDir: record({ medium: oneOf(['', 'Memory']), sizeLimit: QUANTITY }),
    configMap: record({ ...rest, name: text() }, ['name']),
    downwardAPI: record({
      defaultMode: integer(),
      items: list(record({ path: text(insidePath), mode: integer(), fieldRef: fieldShape })),
    }),
    secret: all(record({ ...rest, secretName: anyValue }, ['secretName']), secretSource(role, scope)),
    persistentVolumeClaim: record(
      {
        claimName: (value, place) => checkClaimName(value, { own: role === 'dind' ? claim : undefined, scope }, place),
        readOnly: flag,
      },
      ['claimName'],
    ),
    hostPath: hostPathSource(scope),
  }
}

/** Checks a Secret: that of the attempt by its keys, the shared certificate of the daemons in v1, or an allowed one. */
function secretSource(role: Role, scope: Scope): Shape {
  const { buildId, attempt, protocol } = scope.attempt
  const own = objectNames(buildId, attempt).secret
  const keys = OWN_KEYS[role] ?? []
  return (value, place) => {
    if (!isRecord(value)) return
    const name = value['secretName']
    if (name === undefined) return
    const isCertificate = name === DAEMON_CERTIFICATE && protocol === 'v1' && role === 'dind'
    if (isCertificate || name !== own || protocol === 'v1')
      return isCertificate ? undefined : checkSecret(name, scope, at(place, 'secretName'))
    const items: unknown[] = Array.isArray(value['items']) ? value['items'] : []
    if (items.length === 0)
      place.refuse(at(place, 'items').path, `is missing; the ${role} pod must mount its keys of the Secret by name.`)
    for (const item of items)
      if (isRecord(item) && !keys.some((key) => key === item['key']))
        place.refuse(
          at(place, 'items').path,
          `has the key ${quote(item['key'])}, which is not for the ${role} pod. ${NO_SETTING}`,
        )
  }
}

/** Refuses a Secret that the policy does not allow. */
export function checkSecret(name: unknown, { policy, attempt }: Scope, place: Place): void {
  if (typeof name === 'string' && isAllowed(policy.secrets, attempt.namespace, name)) return
  place.refuse(place.path, `is ${quote(name)}, which is not the Secret of this build. ${allowedBy('ALLOWED_SECRETS')}`)
}

function checkClaimName(name: unknown, { own, scope }: { own: string | undefined; scope: Scope }, place: Place): void {
  if (name === own) return
  if (typeof name === 'string' && isAllowed(scope.policy.claims, scope.attempt.namespace, name)) return
  place.refuse(place.path, `is ${quote(name)}, which is not the claim of this build. ${allowedBy('ALLOWED_CLAIMS')}`)
}

function hostPathSource({ policy }: Scope): Shape {
  const path = text((value) =>
    isBelow(value, policy.hostPaths)
      ? undefined
      : `is ${quote(value)}, which is not an allowed path of the node. ${allowedBy('ALLOWED_HOST_PATHS')}`,
  )
  return record({ path, type: oneOf(['', 'Directory', 'DirectoryOrCreate', 'File', 'FileOrCreate']) }, ['path'])
}

/** Whether a path is in one of the folders. The kubelet resolves `..` and links after this check, so a path with `..` never is. */
function isBelow(path: string, folders: readonly string[]): boolean {
  if (path.split('/').includes('..')) return false
  return folders.some((folder) => path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`))
}

/** Returns the shape of a volume whose type is allowed as such. */
function allowedSource(kind: string, scope: Scope): Shape {
  if (!scope.policy.volumeTypes.includes(kind))
    return (_, place) => place.refuse(place.path, `is not an allowed volume type. ${allowedBy('ALLOWED_VOLUMES')}`)
  const secretName: Shape = (value, place) => checkSecret(value, scope, place)
  if (kind === 'projected') return projectedSource(secretName)
  if (kind === 'csi')
    return record({
      driver: text(),
      readOnly: flag,
      fsType: text(),
      volumeAttributes: mapping((_, value, place) => text()(value, place)),
      nodePublishSecretRef: record({ name: secretName }, ['name']),
    })
  if (kind === 'ephemeral') return record({ volumeClaimTemplate: record({ spec: claimSpecShape(scope.policy) }, ['spec']) })
  return mapping((key, value, place) => {
    if (/secret/i.test(key)) place.refuse(place.path, `names a Secret. ${NO_SETTING}`)
    else if (typeof value === 'object') list(text())(value, place)
  })
}

function projectedSource(secretName: Shape): Shape {
  const named = { items: ITEMS, optional: flag }
  const source = record({
    secret: record({ ...named, name: secretName }, ['name']),
    configMap: record({ ...named, name: text() }, ['name']),
    downwardAPI: record({ items: list(record({ path: text(insidePath), mode: integer(), fieldRef: fieldShape })) }),
    // Without an audience the token is valid for the Kubernetes API.
    serviceAccountToken: record({ audience: text(audience), expirationSeconds: integer(), path: text(insidePath) }, [
      'audience',
      'path',
    ]),
  })
  return record({ defaultMode: integer(), sources: list(source, 1) }, ['sources'])
}

function audience(value: string): string | undefined {
  const isOfKubernetes = value === '' || /kubernetes/i.test(value)
  return isOfKubernetes ? `is ${quote(value)}, which makes a token for the Kubernetes API. ${NO_SETTING}` : undefined
}

function insidePath(value: string): string | undefined {
  const leaves = value.startsWith('/') || value.split('/').includes('..')
  return leaves ? `is ${quote(value)}, which leaves its volume. ${NO_SETTING}` : undefined
}

const FIELDS =
  /^(metadata\.(name|namespace|uid|labels(\['[^']+'\])?|annotations(\['[^']+'\])?)|spec\.(nodeName|serviceAccountName)|status\.(hostIPs?|podIPs?))$/

/** The fields of a pod that its containers may read. */
export const fieldShape: Shape = record(
  {
    apiVersion: oneOf(['v1']),
    fieldPath: text((value) => (FIELDS.test(value) ? undefined : `is ${quote(value)}. ${NO_SETTING}`)),
  },
  ['fieldPath'],
)
