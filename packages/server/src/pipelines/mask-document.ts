import { fault } from '@windlass/kit'
import { MASK } from '../secrets/mask.ts'
import { readSettings, type WrittenSettings } from './settings.ts'

/** Encrypted values are written in the open in a `kind: pipeline` document; they must not be stored so. Throws when one cannot be found to be masked. */
export function maskDocument(document: string, variables: WrittenSettings['variables']): string {
  const secrets = new Set(
    variables.filter(({ encrypted, value }) => encrypted && value !== '' && value !== MASK).map(({ value }) => value),
  )
  if (secrets.size === 0) return document
  const masked = document.replaceAll(
    /^(\s*(?:-\s*)?["']?value["']?\s*:\s*)(.*?)(\s*)$/gm,
    (line, key: string, text: string, space: string) => (secrets.has(unquote(text)) ? `${key}'${MASK}'${space}` : line),
  )
  const rest =
    readSettings(masked, 'pipeline.yaml')?.variables.filter(
      ({ encrypted, value }) => encrypted && value !== '' && value !== MASK,
    ) ?? []
  if (rest.length === 0) return masked
  const names = rest.map(({ key }) => key).join(', ')
  throw fault('request-invalid', {
    message: `Write the value of the encrypted variable ${names} on the line of its key, quoted or plain.`,
  })
}

function unquote(text: string): string {
  if (/^"(?:[^"\\]|\\.)*"$/.test(text)) {
    try {
      return String(JSON.parse(text))
    } catch {
      return text
    }
  }
  return /^'.*'$/.test(text) ? text.slice(1, -1).replaceAll("''", "'") : text
}
