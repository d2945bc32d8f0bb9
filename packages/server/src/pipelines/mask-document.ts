import { fault } from '@windlass/kit'
import { parseYaml } from '@windlass/pipeline'
import { MASK } from '../secrets/mask.ts'
import { readSettings, type WrittenSettings } from './settings.ts'

/** Encrypted values are written in the open in a `kind: pipeline` document; they must not be stored so. Throws when one cannot be found to be masked. */
export function maskDocument(document: string, variables: WrittenSettings['variables']): string {
  if (openSecrets(variables).length === 0) return document
  let masked = document
  for (const { start, end } of valuePlaces(document).toSorted((a, b) => b.start - a.start)) {
    const text = masked.slice(start, end)
    masked = `${masked.slice(0, start)}'${MASK}'${text.endsWith('\n') ? '\n' : ''}${masked.slice(end)}`
  }
  // A value may stand elsewhere, behind an alias.
  const rest = openSecrets(readSettings(masked, 'pipeline.yaml')?.variables ?? variables)
  if (rest.length === 0) return masked
  const names = rest.map(({ key }) => key).join(', ')
  throw fault('request-invalid', {
    message: `Write the value of the encrypted variable ${names} beside its key, not behind an alias.`,
  })
}

function openSecrets(variables: WrittenSettings['variables']): WrittenSettings['variables'] {
  return variables.filter(({ encrypted, value }) => encrypted && value !== '' && value !== MASK)
}

type Node = ReturnType<typeof parseYaml>['root']

/** Where the values of encrypted variables stand. Offsets in the text. */
function valuePlaces(document: string): { readonly start: number; readonly end: number }[] {
  const list = childOf(childOf(parseYaml({ text: document, file: '' }).root, 'spec'), 'variables')
  if (list?.kind !== 'list') return []
  // Aliases share the place of their anchor.
  const places = list.items.flatMap((item) => {
    const encrypted = childOf(item, 'encrypted')
    const value = childOf(item, 'value')
    const isOpen = encrypted?.kind !== 'scalar' || !/^(true|yes|on|1)$/i.test(String(encrypted.value))
    return isOpen || value === undefined ? [] : [value.range]
  })
  return [...new Map(places.map((place) => [place.start, place])).values()]
}

function childOf(node: Node, key: string): Node {
  return node?.kind === 'map' ? node.entries.get(key)?.value : undefined
}
