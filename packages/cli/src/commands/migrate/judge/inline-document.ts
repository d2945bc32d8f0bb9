/** Turns a document that has only steps into a `kind: pipeline` document with a name. */
import { parseYaml, toValue } from '@windlass/pipeline'
import { stringify } from 'yaml'

/**
 * Returns the document with its content in `spec`. Comments and spelling are kept, because every line is indented by two spaces. A text that does not allow
 * this is written anew.
 */
export function toManifest(text: string, name: string): string {
  const value = valueOf(text)
  const head = stringify({ kind: 'pipeline', metadata: { name } })
  const lines = text.trimEnd().split(/\r?\n/)
  const indented = `${head}spec:\n${lines.map((line) => (line === '' ? '' : `  ${line}`)).join('\n')}\n`
  const isSame = JSON.stringify(valueOf(indented, 'spec')) === JSON.stringify(value)
  return isSame ? indented : `${head}${stringify({ spec: value }, { lineWidth: 0 })}`
}

function valueOf(text: string, key?: string): unknown {
  const { root } = parseYaml({ text, file: '' })
  const node = key === undefined || root?.kind !== 'map' ? root : root.entries.get(key)?.value
  return node === undefined ? undefined : toValue(node)
}
