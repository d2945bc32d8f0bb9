/** How a person has formatted a YAML file, so that a change of one field is a change of one line. */
import { isCollection, isMap, isNode, isScalar, isSeq, visit, type Document, type Node, type ToStringOptions } from 'yaml'

type Format = Pick<ToStringOptions, 'indent' | 'indentSeq' | 'flowCollectionPadding'>

/** Returns the options with which a document is written as in its text. What the text does not tell is as the library has it. */
export function formatOf(text: string, document: Document): Format {
  const format: { -readonly [K in keyof Format]: Format[K] } = {}
  const columnOf = (offset: number): number => offset - (text.lastIndexOf('\n', offset - 1) + 1)
  const startOf = (node: unknown): number | undefined => (isNode(node) ? node.range?.[0] : undefined)
  visit(document, {
    Collection(_, node) {
      const start = startOf(node)
      if (node.flow === true && start !== undefined && node.items.length > 0)
        format.flowCollectionPadding ??= text[start + 1] === ' '
    },
    Pair(_, { key, value }) {
      const [outer, inner] = [startOf(key), startOf(firstOf(value))]
      if (outer === undefined || inner === undefined || !isScalar(key)) return
      const step = columnOf(inner) - columnOf(outer)
      if (isSeq(value)) format.indentSeq ??= step > 0
      else if (step > 0) format.indent ??= step
    },
  })
  return format
}

/** Returns the first node inside a block; undefined for others. */
function firstOf(value: unknown): Node | undefined {
  if (!isCollection(value) || value.flow === true) return undefined
  if (isSeq(value)) return value
  const [first] = value.items
  return isMap(value) && first !== undefined && 'key' in first && isNode(first.key) ? first.key : undefined
}
