/** The fields of contexts: which are secret, how they are stored, and what the API returns. */
import { fault } from '@windlass/kit'
import {
  APP_FORGES,
  AppForge,
  CONTEXT_FIELDS,
  ContextInput,
  isIntegration,
  isSecretContextField,
  isYamlContext,
  MASK,
  MAX_LIFETIME_S,
  parseBaseUrl,
  REQUIRED_CONTEXT_FIELD,
  type Context,
} from '@windlass/protocol'
import { z } from 'zod'
import { contextPlace, type Place } from '../secrets/places.ts'
import type { Sealer, Vault } from '../secrets/vault.ts'
import type { ContextRow } from '../store/schema/schema.ts'

/** What the secret fields of a context are bound to, and its fields. */
type SealedContext = Pick<ContextRow, 'id' | 'account_id' | 'type' | 'data'>
type Data = Record<string, string>
type Written = ContextInput['data']

const StoredData = z.record(z.string(), z.string())

/**
 * Returns the data to store: secret fields sealed, those sent as `*****` unchanged. Throws `request-invalid` for fields that the type does not have, and for
 * a kept secret whose host changes.
 */
export function sealContextData(
  sealer: Sealer,
  context: Pick<ContextRow, 'account_id' | 'id' | 'type'>,
  written: Written,
  before: ContextRow | undefined,
): string {
  const data = toTexts(context.type, written)
  checkFields(context.type, data)
  const kept = before === undefined ? {} : StoredData.parse(JSON.parse(before.data))
  if (before?.type === context.type) checkDestination(context.type, data, kept)
  const entries = Object.entries(data).map(([field, value]): [string, string] => {
    if (!isSecretContextField(context.type, field)) return [field, value]
    const stored = kept[field]
    if (value !== MASK) return [field, sealer.seal(contextPlace(context, field), value)]
    if (stored === undefined || before?.type !== context.type)
      throw fault('request-invalid', {
        message: `The field "${field}" has no stored value to keep.`,
        problems: [{ path: `data.${field}`, message: `${MASK} keeps the stored value, but none is stored.` }],
      })
    return [field, sealer.keep(contextPlace(context, field), stored)]
  })
  return JSON.stringify(Object.fromEntries(entries))
}

/**
 * Rejects a kept secret together with another URL or domain. A user can write a context without reading its secrets, and could otherwise send them to
 * another host.
 */
function checkDestination(type: ContextRow['type'], data: Data, kept: Data): void {
  if (!isIntegration(type)) return
  const field = REQUIRED_CONTEXT_FIELD[type]
  const secret = CONTEXT_FIELDS[type].secret.find((one) => data[one] === MASK && kept[one] !== undefined)
  if (secret === undefined || isSecretContextField(type, field) || data[field] === kept[field]) return
  const message = `The field "${field}" changes, so the stored value of "${secret}" is not kept.`
  const hint = `Send the value of "${secret}" together with the new "${field}".`
  throw fault('request-invalid', { message, hint, problems: [{ path: `data.${secret}`, message, hint }] })
}

/** Converts every value to a string: YAML contexts store JSON, all others accept only strings. */
function toTexts(type: ContextRow['type'], written: Written): Data {
  if (isYamlContext(type))
    return Object.fromEntries(
      Object.entries(written).map(([field, value]) => [field, value === MASK ? MASK : JSON.stringify(value)]),
    )
  const problems = Object.entries(written)
    .filter(([, value]) => typeof value !== 'string')
    .map(([field]) => ({ path: `data.${field}`, message: `The value of "${field}" must be a string; quote it.` }))
  if (problems.length > 0) throw fault('request-invalid', { message: problems[0]?.message ?? '', problems })
  return Object.fromEntries(
    Object.entries(written).flatMap(([field, value]) => (typeof value === 'string' ? [[field, value]] : [])),
  )
}

function checkFields(type: ContextRow['type'], data: Data): void {
  if (!isIntegration(type)) return
  const known: readonly string[] = [...CONTEXT_FIELDS[type].open, ...CONTEXT_FIELDS[type].secret]
  const problems = Object.keys(data)
    .filter((field) => !known.includes(field))
    .map((field) => ({
      path: `data.${field}`,
      message: `unknown field "${field}" in a ${type} context; known fields: ${known.join(', ')}`,
    }))
  if (type === 'git') problems.push(...oauthProblems(data))
  const isInRuntime = type === 'secret-store' && data['resourceName'] !== undefined
  if (isInRuntime) problems.push(...runtimeStoreProblems(data))
  else if (data[REQUIRED_CONTEXT_FIELD[type]] === undefined)
    problems.push({
      path: `data.${REQUIRED_CONTEXT_FIELD[type]}`,
      message: `A ${type} context requires "${REQUIRED_CONTEXT_FIELD[type]}".`,
    })
  if (problems.length > 0) throw fault('request-invalid', { message: problems[0]?.message ?? '', problems })
}

/** Checks what the server needs to renew the token of a Git context. */
function oauthProblems(data: Data): { path: string; message: string }[] {
  const fields = ['oauthForge', 'oauthApp', 'oauthExpiresIn', 'oauthRefreshToken', 'password']
  if (!Object.keys(data).some((field) => field.startsWith('oauth'))) return []
  const problems = fields
    .filter((field) => data[field] === undefined)
    .map((field) => ({ path: `data.${field}`, message: `A git context with an OAuth app requires "${field}".` }))
  const { oauthForge = 'gitea', oauthApp = '-', oauthExpiresIn = '1', url = '' } = data
  if (!AppForge.safeParse(oauthForge).success)
    problems.push({ path: 'data.oauthForge', message: `oauthForge must be one of ${APP_FORGES.join(', ')}.` })
  if (!/^[\w.:-]{1,200}$/.test(oauthApp))
    problems.push({ path: 'data.oauthApp', message: 'oauthApp must be the client ID of an OAuth app.' })
  if (!/^[1-9]\d{0,8}$/.test(oauthExpiresIn) || Number(oauthExpiresIn) > MAX_LIFETIME_S)
    problems.push({ path: 'data.oauthExpiresIn', message: 'oauthExpiresIn must be a number of seconds.' })
  if (parseBaseUrl(url) === undefined)
    problems.push({ path: 'data.url', message: 'The url of a git context with an OAuth app must be http:// or https://.' })
  return problems
}

/** Checks a store that is a Secret or ConfigMap of the cluster that builds run in. */
function runtimeStoreProblems({ url, resourceType = 'secret', resourceName = '' }: Data): { path: string; message: string }[] {
  const problems = []
  if (url !== undefined) problems.push({ path: 'data.url', message: 'Set either url or resourceName, not both.' })
  if (resourceType !== 'secret' && resourceType !== 'configmap')
    problems.push({ path: 'data.resourceType', message: `resourceType must be "secret" or "configmap", not "${resourceType}".` })
  if (!/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/.test(resourceName))
    problems.push({ path: 'data.resourceName', message: 'resourceName must be the name of a Secret or ConfigMap.' })
  return problems
}

/** Decrypts the values; only for engines. */
export function openContextData(vault: Vault, context: ContextRow): Data {
  return mapSecrets(context, (place, sealed) => vault.open(place, sealed))
}

/** Returns the stored data with new values of secret fields, and the other secrets under the current key. */
export function replaceSecrets(sealer: Sealer, context: ContextRow, values: Data): string {
  const kept = mapSecrets(context, (place, sealed) => sealer.keep(place, sealed))
  const sealed = Object.entries(values).map(([field, value]) => [field, sealer.seal(contextPlace(context, field), value)])
  return JSON.stringify({ ...kept, ...Object.fromEntries(sealed) })
}

/** Returns the stored data with `change` applied to the sealed values. */
export function changeSealedData(context: SealedContext, change: (place: Place, sealed: string) => string): string {
  return JSON.stringify(mapSecrets(context, change))
}

function mapSecrets(context: SealedContext, change: (place: Place, sealed: string) => string): Data {
  const stored = StoredData.parse(JSON.parse(context.data))
  return Object.fromEntries(
    Object.entries(stored).map(([field, value]) => [
      field,
      isSecretContextField(context.type, field) ? change(contextPlace(context, field), value) : value,
    ]),
  )
}

/** Returns when the token of a context expires. Null without a refresh token: an older server replaces a login and leaves its `expires_at`. */
export function expiryOf({ data, expires_at: expiresAt }: Pick<ContextRow, 'data' | 'expires_at'>): number | null {
  return expiresAt === null || StoredData.parse(JSON.parse(data))['oauthRefreshToken'] === undefined ? null : expiresAt
}

export interface ContextVariables {
  readonly values: Data
  readonly isSecret: boolean
}

/** Returns the variables of a shared configuration context; undefined for an integration. Objects, lists, numbers and booleans are returned as JSON. */
export function openContextVariables(vault: Vault, context: ContextRow): ContextVariables | undefined {
  if (isIntegration(context.type)) return undefined
  const data = openContextData(vault, context)
  const values = isYamlContext(context.type)
    ? Object.fromEntries(Object.entries(data).map(([field, json]) => [field, plainText(JSON.parse(json), json)]))
    : data
  return { values, isSecret: isSecretContextField(context.type, '') }
}

function plainText(value: unknown, json: string): string {
  if (value === null) return ''
  return typeof value === 'string' ? value : json
}

/** Returns the context for the API: secret fields as `*****`. */
export function toContext(context: ContextRow): Context {
  const stored = StoredData.parse(JSON.parse(context.data))
  const expiresAt = expiryOf(context)
  return {
    id: context.id,
    name: context.name,
    type: context.type,
    isDefault: context.is_default === 1,
    data: Object.fromEntries(
      Object.entries(stored).map(([field, value]) => [
        field,
        isSecretContextField(context.type, field) ? MASK : shownValue(context.type, value),
      ]),
    ),
    createdAt: context.created_at,
    updatedAt: context.updated_at,
    ...(context.changed_by !== null && { changedBy: context.changed_by }),
    ...(expiresAt !== null && { expiresAt }),
    ...(expiresAt !== null && context.problem !== null && { problem: context.problem }),
  }
}

/** Returns values of YAML contexts in their original shape. */
function shownValue(type: ContextRow['type'], value: string): Context['data'][string] {
  return isYamlContext(type) ? Shown.parse(JSON.parse(value)) : value
}

const Shown = ContextInput.shape.data.valueType
