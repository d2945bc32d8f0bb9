import { fault } from '@windlass/kit'
import { parseYaml } from '@windlass/pipeline'
import { MASK } from '../secrets/mask.ts'
import { readSettings, type WrittenSettings } from './settings.ts'

/** Maximum variable names in a message. */
const MAX_NAMED = 10

/** Masks the encrypted values of a `kind: pipeline` document, which contains them in plain text. Throws `request-invalid` if it cannot locate one. */
export function maskDocument(document: string, variables: WrittenSettings['variables']): string {
  if (openSecrets(variables).length === 0) return document
  const pieces: string[] = []
  let done = 0
  for (const { start, end } of valueRanges(document).toSorted((a, b) => a.start - b.start)) {
    pieces.push(document.slice(done, start), `'${MASK}'`, document[end - 1] === '\n' ? '\n' : '')
    done = end
  }
  const masked = pieces.join('') + document.slice(done)
  // An alias may repeat the value elsewhere.
  const rest = openSecrets(readSettings(masked, 'pipeline.yaml')?.variables ?? variables)
  if (rest.length === 0) return masked
  const names = rest
    .slice(0, MAX_NAMED)
    .map(({ key }) => key)
    .join(', ')
  throw fault('request-invalid', {
    message: `Write the value of the encrypted variable ${names} next to its key, not behind an alias.`,
  })
}

function openSecrets(variables: WrittenSettings['variables']): WrittenSettings['variables'] {
  return variables.filter(({ encrypted, value }) => encrypted && value !== '' && value !== MASK)
}

type Node = ReturnType<typeof parseYaml>['root']

/** Returns the ranges of the values of encrypted variables. Offsets in the text. */
function valueRanges(document: string): { readonly start: number; readonly end: number }[] {
  const list = childOf(childOf(parseYaml({ text: document, file: '' }).root, 'spec'), 'variables')
  if (list?.kind !== 'list') return []
  // Aliases have the range of their anchor.
  const ranges = list.items.flatMap((item) => {
    const encrypted = childOf(item, 'encrypted')
    const value = childOf(item, 'value')
    const isOpen = encrypted?.kind !== 'scalar' || !/^(true|yes|on|1)$/i.test(String(encrypted.value))
    return isOpen || value === undefined ? [] : [value.range]
  })
  return [...new Map(ranges.map((place) => [place.start, place])).values()]
}

function childOf(node: Node, key: string): Node {
  return node?.kind === 'map' ? node.entries.get(key)?.value : undefined
}
