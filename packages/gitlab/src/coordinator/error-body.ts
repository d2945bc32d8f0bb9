/** Messages in the bodies of errors: those of GitLab, and those of the object storage behind it. */
import { parseJson } from '@windlass/kit'
import { z } from 'zod'

/** Longest message that is shown. Characters. */
const MAX_CHARS = 500
/** `{"message": "text"}`, or `{"message": {"field": ["error", "error"]}}`. */
const ErrorBody = z.object({
  message: z.union([z.string(), z.record(z.string(), z.union([z.string(), z.array(z.string())]))]),
})

/**
 * Returns the message of an error body, without the status before it. Undefined if it says no more than the status, or is not understood. `json` is the
 * parsed body, for a caller that needs it too.
 */
export function errorMessage(status: number, statusText: string, body: string, json = parseJson(body)): string | undefined {
  const text = jsonMessage(json) ?? xmlMessage(body)
  const before = `${status} ${statusText}`
  const said = text?.startsWith(before) === true ? text.slice(before.length).replace(/^[\s:-]+/, '') : text
  return said === undefined || said === '' ? undefined : said.slice(0, MAX_CHARS)
}

function jsonMessage(json: unknown): string | undefined {
  const parsed = ErrorBody.safeParse(json)
  if (!parsed.success) return undefined
  const { message } = parsed.data
  if (typeof message === 'string') return message
  return Object.entries(message)
    .map(([field, errors]) => `${field}: ${Array.isArray(errors) ? errors.join(', ') : errors}`)
    .join('; ')
}

/** Returns code and message of `<Error><Code>…</Code><Message>…</Message></Error>`. */
function xmlMessage(body: string): string | undefined {
  if (!/<Error>/.test(body.slice(0, 1000))) return undefined
  const parts = [/<Code>([^<]*)<\/Code>/, /<Message>([^<]*)<\/Message>/].flatMap((part) => part.exec(body)?.[1] ?? [])
  return parts.join(': ')
}
