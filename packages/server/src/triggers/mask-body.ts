/** Bodies and headers of deliveries as callers see them: without the values of fields that hold secrets. */
import { isRecord } from '@windlass/kit/json'
import { MASK } from '../secrets/mask.ts'

/** Names of fields and parameters with secrets. `token` alone is also the name of other things in no forge and registry. */
const SECRET_NAME =
  /(?:^|[^a-z])(?:access|auth|api|private|secret|client|deploy|refresh|id)?[_-]?(?:token|secret|password|passwd|authorization|credentials?|signature|api[_-]?key|private[_-]?key|secret[_-]?key|access[_-]?key)s?$/i
/** User name and password of a URL. */
const LOGIN = /(\b[a-z][a-z0-9+.-]*:\/\/)[^\s/@"']+@/gi
/** Parameters of a URL. */
const PARAMETER = /([?&])([\w.~-]+)=([^&#\s"']+)/g

/** Returns the body of a delivery with `*****` for secrets. JSON that has none is returned as it was received. */
export function maskBody(body: string): string {
  let changed = false
  const masked: unknown = mask(parse(body), (before, after) => {
    changed ||= before !== after
    return after
  })
  if (masked === undefined) return maskText(body)
  return changed ? JSON.stringify(masked, null, 2) : body
}

/** Returns the headers that are stored of a delivery with `*****` for secrets. */
export function maskHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, isSecretName(name) ? MASK : maskText(value)]))
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

function mask(value: unknown, note: (before: string, after: string) => string): unknown {
  if (typeof value === 'string') return note(value, maskText(value))
  if (Array.isArray(value)) return value.map((item) => mask(item, note))
  if (!isRecord(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [
      name,
      isSecretName(name) && typeof field === 'string' && field !== '' ? note(field, MASK) : mask(field, note),
    ]),
  )
}

function maskText(text: string): string {
  return text
    .replaceAll(LOGIN, `$1${MASK}@`)
    .replaceAll(PARAMETER, (all, sign: string, name: string) =>
      isSecretName(name) || name === 'sig' ? `${sign}${name}=${MASK}` : all,
    )
}

function isSecretName(name: string): boolean {
  // `accessToken` has the words of `access_token`.
  return SECRET_NAME.test(name.replaceAll(/([a-z\d])([A-Z])/g, '$1_$2'))
}
