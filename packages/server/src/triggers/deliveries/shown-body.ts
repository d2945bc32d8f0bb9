/** The body of a delivery as users see it: without the secrets that a forge or a registry may put into it. */
import { hideLogin, parseJson } from '@windlass/kit'
import { isRecord } from '@windlass/kit/json'
import { MASK } from '@windlass/protocol'

/** Fields whose values are credentials, whatever case and separators their names have. */
const SECRET_FIELD = /(?:^|[_-])(?:token|secret|password|passwd|authorization|(?:private|api|access|secret)[_-]?key)$/i

/** Also of names such as `accessToken`. */
function isSecretField(name: string): boolean {
  return SECRET_FIELD.test(name.replaceAll(/([a-z\d])([A-Z])/g, '$1_$2'))
}

/** Values deeper than this are masked as a whole. No forge nests so deeply. */
const MAX_DEPTH = 200

/** Returns the text of a body with the values of secret fields and the logins of URLs masked. A body without them is returned as it is. */
export function showBody(text: string): string {
  let isMasked = false
  const mask = (value: unknown, depth = 0): unknown => {
    if (depth > MAX_DEPTH) {
      isMasked = true
      return MASK
    }
    if (typeof value === 'string') {
      const hidden = hideLogin(value)
      isMasked ||= hidden !== value
      return hidden
    }
    if (Array.isArray(value)) return value.map((inner) => mask(inner, depth + 1))
    if (!isRecord(value)) return value
    return Object.fromEntries(
      Object.entries(value).map(([name, inner]) => {
        const isSecret = isSecretField(name) && (typeof inner === 'number' || (typeof inner === 'string' && inner !== ''))
        isMasked ||= isSecret
        return [name, isSecret ? MASK : mask(inner, depth + 1)]
      }),
    )
  }
  const shown = mask(parseJson(text))
  return isMasked ? JSON.stringify(shown) : text
}
