/** The fields of contexts: which are secret, how they are stored, and how they are shown. */
import { fault } from '@windlass/kit'
import { ContextInput, type Context } from '@windlass/protocol'
import { z } from 'zod'
import { MASK } from '../secrets/mask.ts'
import type { Vault } from '../secrets/vault.ts'
import type { ContextRow } from '../store/schema.ts'
import { readKubeconfig } from './kubeconfig.ts'

type Data = Record<string, string>
type Written = ContextInput['data']

/** Fields of integrations: those that may be set, and those of them that are secret. `config` and `secret` hold variables. */
const FIELDS: Readonly<
  Record<
    'git' | 'registry' | 'kubernetes' | 'secret-store',
    { readonly open: readonly string[]; readonly secret: readonly string[] }
  >
> = {
  git: { open: ['url', 'username', 'sshKnownHosts'], secret: ['password', 'sshPrivateKey'] },
  registry: { open: ['domain', 'username', 'repositoryPrefix', 'primary'], secret: ['password'] },
  kubernetes: { open: ['provider', 'behindFirewall'], secret: ['kubeconfig'] },
  'secret-store': {
    open: ['url', 'mount', 'path', 'namespace', 'runtime', 'resourceType', 'resourceName'],
    secret: ['token'],
  },
}
const REQUIRED = { git: 'url', registry: 'domain', kubernetes: 'kubeconfig', 'secret-store': 'url' } as const

const StoredData = z.record(z.string(), z.string())

function isIntegration(type: ContextRow['type']): type is keyof typeof FIELDS {
  return Object.hasOwn(FIELDS, type)
}

/** Values of any shape, kept as JSON. */
function isYaml(type: ContextRow['type']): boolean {
  return type === 'yaml' || type === 'secret-yaml'
}

function isSecretField(type: ContextRow['type'], field: string): boolean {
  return type === 'secret' || type === 'secret-yaml' || (isIntegration(type) && FIELDS[type].secret.includes(field))
}

function place(context: Pick<ContextRow, 'account_id' | 'id'>, field: string): string {
  return `${context.account_id}/${context.id}/${field}`
}

/** The data as stored: secret fields sealed, those written as `*****` kept. Throws `request-invalid` for fields the type does not have. */
export function sealContextData(
  vault: Vault,
  context: Pick<ContextRow, 'account_id' | 'id' | 'type'>,
  written: Written,
  before: ContextRow | undefined,
): string {
  const data = toTexts(context.type, written)
  checkFields(context.type, data)
  const kept = before === undefined ? {} : StoredData.parse(JSON.parse(before.data))
  const entries = Object.entries(data).map(([field, value]): [string, string] => {
    if (!isSecretField(context.type, field)) return [field, value]
    const stored = kept[field]
    if (value !== MASK) return [field, vault.seal(place(context, field), value)]
    if (stored === undefined || before?.type !== context.type)
      throw fault('request-invalid', {
        message: `There is no stored value of ${field} to keep.`,
        problems: [{ path: `data.${field}`, message: `${MASK} keeps a stored value, and there is none.` }],
      })
    return [field, stored]
  })
  return JSON.stringify(Object.fromEntries(entries))
}

/** Every value as a text: YAML contexts keep JSON, all others take texts alone. */
function toTexts(type: ContextRow['type'], written: Written): Data {
  if (isYaml(type))
    return Object.fromEntries(
      Object.entries(written).map(([field, value]) => [field, value === MASK ? MASK : JSON.stringify(value)]),
    )
  const problems = Object.entries(written)
    .filter(([, value]) => typeof value !== 'string')
    .map(([field]) => ({ path: `data.${field}`, message: `The value of ${field} must be a text; quote it.` }))
  if (problems.length > 0) throw fault('request-invalid', { message: problems[0]?.message ?? '', problems })
  return Object.fromEntries(
    Object.entries(written).flatMap(([field, value]) => (typeof value === 'string' ? [[field, value]] : [])),
  )
}

function checkFields(type: ContextRow['type'], data: Data): void {
  if (!isIntegration(type)) return
  const known = [...FIELDS[type].open, ...FIELDS[type].secret]
  const problems = Object.keys(data)
    .filter((field) => !known.includes(field))
    .map((field) => ({ path: `data.${field}`, message: `A ${type} context has no field ${field}; it has ${known.join(', ')}.` }))
  const isInRuntime = type === 'secret-store' && data['resourceName'] !== undefined
  if (isInRuntime) problems.push(...runtimeStoreProblems(data))
  else if (data[REQUIRED[type]] === undefined)
    problems.push({ path: `data.${REQUIRED[type]}`, message: `A ${type} context needs ${REQUIRED[type]}.` })
  const { kubeconfig } = data
  if (type === 'kubernetes' && kubeconfig !== undefined && kubeconfig !== MASK) {
    const read = readKubeconfig(kubeconfig, 'cluster')
    if ('problem' in read) problems.push({ path: 'data.kubeconfig', message: `The kubeconfig cannot be used. ${read.problem}` })
  }
  if (problems.length > 0) throw fault('request-invalid', { message: problems[0]?.message ?? '', problems })
}

/** A store that is a Secret or ConfigMap of the cluster that builds run in (runner specification 4.7). */
function runtimeStoreProblems({ url, resourceType = 'secret', resourceName = '' }: Data): { path: string; message: string }[] {
  const problems = []
  if (url !== undefined) problems.push({ path: 'data.url', message: 'A store has a url or a resourceName, not both.' })
  if (resourceType !== 'secret' && resourceType !== 'configmap')
    problems.push({ path: 'data.resourceType', message: `resourceType is secret or configmap, not ${resourceType}.` })
  if (!/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/.test(resourceName))
    problems.push({ path: 'data.resourceName', message: 'resourceName must be the name of a Secret or ConfigMap.' })
  return problems
}

/** The values themselves; only for what is handed to engines. */
export function openContextData(vault: Vault, context: ContextRow): Data {
  const stored = StoredData.parse(JSON.parse(context.data))
  return Object.fromEntries(
    Object.entries(stored).map(([field, value]) => [
      field,
      isSecretField(context.type, field) ? vault.open(place(context, field), value) : value,
    ]),
  )
}

export interface ContextVariables {
  readonly values: Data
  readonly isSecret: boolean
}

/** The variables that a context of shared configuration gives; undefined for an integration. Values that are not plain come as JSON. */
export function openContextVariables(vault: Vault, context: ContextRow): ContextVariables | undefined {
  if (isIntegration(context.type)) return undefined
  const data = openContextData(vault, context)
  const values = isYaml(context.type)
    ? Object.fromEntries(Object.entries(data).map(([field, json]) => [field, plainText(JSON.parse(json), json)]))
    : data
  return { values, isSecret: isSecretField(context.type, '') }
}

function plainText(value: unknown, json: string): string {
  if (value === null) return ''
  return typeof value === 'string' ? value : json
}

/** What users see: secret fields as `*****`. */
export function toContext(context: ContextRow): Context {
  const stored = StoredData.parse(JSON.parse(context.data))
  return {
    id: context.id,
    name: context.name,
    type: context.type,
    isDefault: context.is_default === 1,
    data: Object.fromEntries(
      Object.entries(stored).map(([field, value]) => [
        field,
        isSecretField(context.type, field) ? MASK : shown(context.type, value),
      ]),
    ),
    createdAt: context.created_at,
    updatedAt: context.updated_at,
  }
}

/** Values of YAML contexts in their own shape. */
function shown(type: ContextRow['type'], value: string): Context['data'][string] {
  return isYaml(type) ? Shown.parse(JSON.parse(value)) : value
}

const Shown = ContextInput.shape.data.valueType
