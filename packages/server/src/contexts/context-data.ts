/** The fields of contexts: which are secret, how they are stored, and how they are shown. */
import { fault } from '@windlass/kit'
import type { Context } from '@windlass/protocol'
import { z } from 'zod'
import { MASK } from '../secrets/mask.ts'
import type { Vault } from '../secrets/vault.ts'
import type { ContextRow } from '../store/schema.ts'
import { readKubeconfig } from './kubeconfig.ts'

type Data = Record<string, string>

/** Fields of integrations: those that may be set, and those of them that are secret. `config` and `secret` hold variables. */
const FIELDS: Readonly<
  Record<'git' | 'registry' | 'kubernetes', { readonly open: readonly string[]; readonly secret: readonly string[] }>
> = {
  git: { open: ['url', 'username', 'sshKnownHosts'], secret: ['password', 'sshPrivateKey'] },
  registry: { open: ['domain', 'username', 'repositoryPrefix'], secret: ['password'] },
  kubernetes: { open: [], secret: ['kubeconfig'] },
}
const REQUIRED = { git: 'url', registry: 'domain', kubernetes: 'kubeconfig' } as const

const StoredData = z.record(z.string(), z.string())

function isIntegration(type: ContextRow['type']): type is keyof typeof FIELDS {
  return type !== 'config' && type !== 'secret'
}

function isSecretField(type: ContextRow['type'], field: string): boolean {
  return type === 'secret' || (isIntegration(type) && FIELDS[type].secret.includes(field))
}

function place(context: Pick<ContextRow, 'account_id' | 'id'>, field: string): string {
  return `${context.account_id}/${context.id}/${field}`
}

/** The data as stored: secret fields sealed, those written as `*****` kept. Throws `request-invalid` for fields the type does not have. */
export function sealContextData(
  vault: Vault,
  context: Pick<ContextRow, 'account_id' | 'id' | 'type'>,
  data: Data,
  before: ContextRow | undefined,
): string {
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

function checkFields(type: ContextRow['type'], data: Data): void {
  if (!isIntegration(type)) return
  const known = [...FIELDS[type].open, ...FIELDS[type].secret]
  const problems = Object.keys(data)
    .filter((field) => !known.includes(field))
    .map((field) => ({ path: `data.${field}`, message: `A ${type} context has no field ${field}; it has ${known.join(', ')}.` }))
  if (data[REQUIRED[type]] === undefined)
    problems.push({ path: `data.${REQUIRED[type]}`, message: `A ${type} context needs ${REQUIRED[type]}.` })
  const { kubeconfig } = data
  if (type === 'kubernetes' && kubeconfig !== undefined && kubeconfig !== MASK) {
    const read = readKubeconfig(kubeconfig, 'cluster')
    if ('problem' in read) problems.push({ path: 'data.kubeconfig', message: `The kubeconfig cannot be used. ${read.problem}` })
  }
  if (problems.length > 0) throw fault('request-invalid', { message: problems[0]?.message ?? '', problems })
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

/** What users see: secret fields as `*****`. */
export function toContext(context: ContextRow): Context {
  const stored = StoredData.parse(JSON.parse(context.data))
  return {
    id: context.id,
    name: context.name,
    type: context.type,
    isDefault: context.is_default === 1,
    data: Object.fromEntries(
      Object.entries(stored).map(([field, value]) => [field, isSecretField(context.type, field) ? MASK : value]),
    ),
    createdAt: context.created_at,
    updatedAt: context.updated_at,
  }
}
