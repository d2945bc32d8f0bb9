/** Contexts: shared configuration moves as it is, integrations are converted, secret values stay behind. */
import { isRecord } from '@windlass/kit/json'
import { CONTEXT_TYPES, ContextInput, isSecretContextField } from '@windlass/protocol'
import { stringify } from 'yaml'
import { isMasked, MASK } from './masked-values.ts'
import { fieldsIn, textIn, type Fields, type Recognized } from './recognize.ts'
import { settingProblems, type Remark, type Verdict } from './verdict.ts'

/** A context in our form, before its masked values are emptied. */
interface Converted {
  readonly type: ContextInput['type']
  readonly data: Fields
  readonly remarks?: readonly Remark[]
}

/** Judges a context. Values that the account masks are empty afterwards and named in remarks. */
export function judgeContext({ name, document: { from }, metadata, spec }: Recognized): Verdict {
  const leave = (reasons: readonly Remark[]): Verdict => ({ kind: 'context', name, from, reasons })
  const converted = convert(spec)
  if ('reason' in converted) return leave([converted])
  const { type } = converted
  const isEmpty = (field: string, value: unknown): boolean => value === '' && isSecretContextField(type, field)
  const masked = Object.entries(converted.data).filter(([field, value]) => hasMasked(value) || isEmpty(field, value))
  const data = Object.fromEntries(Object.entries(converted.data).map(([field, value]) => [field, toValueOf(type, blank(value))]))
  if (type === 'kubernetes' && masked.length > 0)
    return leave([
      {
        path: 'spec.data.kubeconfig',
        reason: 'A kubeconfig is a secret, which is not moved.',
        action: 'Create the context again with `windlass apply`.',
      },
    ])
  const parsed = ContextInput.safeParse({
    name,
    type,
    isDefault: metadata['default'] === true || spec['isDefault'] === true,
    data,
  })
  const unfit = parsed.success ? unfitValues(parsed.data) : settingProblems(parsed.error)
  if (!parsed.success || unfit.length > 0) return leave(unfit)
  const text = contextText(parsed.data)
  const remarks = [...(converted.remarks ?? []), ...masked.map(([field, value]) => secretRemark(field, value))]
  return { from, remarks, resource: { kind: 'context', name, text, body: parsed.data, masked: masked.map(([field]) => field) } }
}

/** Returns the document for `apply`. */
export function contextText({ name, type, isDefault, data }: ContextInput): string {
  const metadata = { name, ...(isDefault && { default: true }) }
  return stringify({ kind: 'context', metadata, spec: { type, data } }, { lineWidth: 0 })
}

function secretRemark(field: string, value: unknown): Remark {
  return {
    path: `spec.data.${field}`,
    reason: `The value of "${field}" is a secret, which is ${value === '' ? 'empty' : 'not moved'}.`,
    action: 'Set it again with `windlass apply`.',
  }
}

function convert(spec: Fields): Converted | Remark {
  const type = typeof spec['type'] === 'string' ? spec['type'] : ''
  const data = spec['data']
  if (isMasked(data) || data === undefined || data === null)
    return {
      path: 'spec.data',
      reason: 'The source does not show the values of the context.',
      action: 'Create the context again with `windlass apply`.',
    }
  if (!isRecord(data))
    return {
      path: 'spec.data',
      reason: 'The data of the context is not a mapping.',
      action: 'Create the context again with `windlass apply`.',
    }
  const own = CONTEXT_TYPES.find((one) => one === type)
  if (own !== undefined) return { type: own, data }
  if (type.startsWith('git.')) return convertGit(type, data)
  if (type === 'secret-store.kubernetes-runtime' && typeof data['resourceName'] === 'string') return convertRuntimeStore(data)
  return {
    path: 'spec.type',
    reason: `Contexts of type "${type}" do not exist in Windlass.`,
    action: type.startsWith('secret-store.')
      ? 'Create a context of type secret-store with the address and path of the store.'
      : `Create a context of one of these types, if builds need it: ${CONTEXT_TYPES.join(', ')}.`,
  }
}

/** Git services: their public host, and the user name that they accept together with a token. */
const GIT_SERVICES: Readonly<Record<string, { readonly host: string; readonly username?: string }>> = {
  'git.github': { host: 'github.com', username: 'x-access-token' },
  'git.gitlab': { host: 'gitlab.com', username: 'oauth2' },
  'git.bitbucket': { host: 'bitbucket.org' },
}

/** Converts a Git integration to its URL, user name and password. The engine uses a password only with a user name. */
function convertGit(type: string, data: Fields): Converted | Remark {
  const auth = fieldsIn(data, 'auth')
  const apiHost = textIn(auth, 'apiHost').replace(/^api\.(?=github\.com$|bitbucket\.org$)/, '')
  const service = Object.hasOwn(GIT_SERVICES, type) ? GIT_SERVICES[type] : undefined
  const host = apiHost === '' ? service?.host : apiHost
  if (host === undefined || !/^[A-Za-z0-9.-]+(:\d{1,5})?$/.test(host))
    return {
      path: 'spec.data.auth.apiHost',
      reason: `The host of the Git server is not in the context of type "${type}".`,
      action: 'Create a context of type git with its URL and a token.',
    }
  const written = textIn(auth, 'username')
  const username = written === '' || isMasked(written) ? service?.username : written
  const remarks =
    username === undefined
      ? [{ path: 'spec.data.auth.username', reason: 'The user name is not in the context.', action: 'Set data.username, too.' }]
      : []
  const password = textIn(auth, 'password') || MASK
  return { type: 'git', data: { url: `https://${host}`, ...(username !== undefined && { username }), password }, remarks }
}

/** Converts a store that is a Secret or ConfigMap in the cluster of the builds. */
function convertRuntimeStore({ resourceName, resourceType, runtime }: Fields): Converted {
  return {
    type: 'secret-store',
    data: {
      resourceName,
      ...(typeof resourceType === 'string' && { resourceType: resourceType.toLowerCase() }),
      ...(typeof runtime === 'string' && { runtime }),
    },
    remarks: [
      {
        path: 'spec.type',
        reason: 'Builds can read a Secret or ConfigMap of the cluster only if a setting of the agent allows it.',
        action: 'Set WINDLASS_AGENT_ALLOWED_SECRETS on the agents.',
      },
    ],
  }
}

/** Returns the value for a context of this type: all but YAML contexts have only texts. */
function toValueOf(type: ContextInput['type'], value: unknown): unknown {
  const isYaml = type === 'yaml' || type === 'secret-yaml'
  return !isYaml && (typeof value === 'number' || typeof value === 'boolean') ? String(value) : value
}

function unfitValues({ type, data }: ContextInput): Remark[] {
  if (type === 'yaml' || type === 'secret-yaml') return []
  return Object.entries(data)
    .filter(([, value]) => typeof value !== 'string')
    .map(([field]) => ({
      path: `spec.data.${field}`,
      reason: `The value of "${field}" in a context of type ${type} must be a string.`,
      action: 'Use a context of type yaml for other values.',
    }))
}

function hasMasked(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasMasked)
  return isRecord(value) ? Object.values(value).some(hasMasked) : isMasked(value)
}

/** Returns the value with empty texts instead of masked ones. */
function blank(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(blank)
  if (isRecord(value)) return Object.fromEntries(Object.entries(value).map(([key, inside]) => [key, blank(inside)]))
  return isMasked(value) ? '' : value
}
