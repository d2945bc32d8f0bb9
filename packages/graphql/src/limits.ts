/** How large a request may be, so that it costs no more than one call of the REST API. */
import { fault } from '@windlass/kit'
import { Kind, type DocumentNode, type FragmentDefinitionNode, type SelectionSetNode } from 'graphql'
import { z } from 'zod'

/** Body of a request with its variables. */
export const MAX_GRAPHQL_BYTES = 65_536
const MAX_QUERY = 20_000
/** Words and signs of the text. They also limit what it costs to validate a request that is not valid. */
export const MAX_TOKENS = 1_000
export const MAX_DEPTH = 10
/** Fields with their aliases, each time that a fragment is used. */
export const MAX_FIELDS = 100

export const GraphqlRequest = z.object({
  query: z.string().min(1).max(MAX_QUERY),
  variables: z.record(z.string(), z.unknown()).nullish(),
  operationName: z.string().max(200).nullish(),
})
export type GraphqlRequest = z.output<typeof GraphqlRequest>

interface Size {
  /** Fields at the top. */
  readonly top: number
  readonly fields: number
  readonly depth: number
}

const NOTHING: Size = { top: 0, fields: 0, depth: 0 }

/** Throws `request-invalid` for an operation or a fragment that is too large, and for an operation that asks for several fields at its root. */
export function requireSmall(document: DocumentNode): void {
  const fragments = new Map(
    document.definitions
      .filter((definition): definition is FragmentDefinitionNode => definition.kind === Kind.FRAGMENT_DEFINITION)
      .map((fragment) => [fragment.name.value, fragment]),
  )
  /** Undefined while a fragment is measured. */
  const known = new Map<string, Size | undefined>()

  function sizeOfFragment(name: string): Size {
    const found = known.get(name)
    if (found !== undefined) return found
    if (known.has(name)) throw tooLarge(`The fragment "${name}" contains itself.`)
    known.set(name, undefined)
    const fragment = fragments.get(name)
    const size = fragment === undefined ? NOTHING : sizeOf(fragment.selectionSet)
    known.set(name, size)
    return size
  }

  function sizeOf({ selections }: SelectionSetNode): Size {
    let sum = NOTHING
    for (const selection of selections) {
      const size =
        selection.kind === Kind.FRAGMENT_SPREAD
          ? sizeOfFragment(selection.name.value)
          : selection.kind === Kind.INLINE_FRAGMENT
            ? sizeOf(selection.selectionSet)
            : sizeOfField(selection.selectionSet)
      sum = { top: sum.top + size.top, fields: sum.fields + size.fields, depth: Math.max(sum.depth, size.depth) }
    }
    return sum
  }

  function sizeOfField(inner: SelectionSetNode | undefined): Size {
    const { fields, depth } = inner === undefined ? NOTHING : sizeOf(inner)
    return { top: 1, fields: fields + 1, depth: depth + 1 }
  }

  for (const definition of document.definitions) {
    const isOperation = definition.kind === Kind.OPERATION_DEFINITION
    // Validation compares all fields of a fragment with each other, also if no operation uses it.
    if (!isOperation && definition.kind !== Kind.FRAGMENT_DEFINITION) continue
    const what = isOperation ? 'operation' : `fragment "${definition.name.value}"`
    const { top, fields, depth } = isOperation ? sizeOf(definition.selectionSet) : sizeOfFragment(definition.name.value)
    if (isOperation && top > 1) throw tooLarge(`The operation has ${top} fields at its root, and may have one.`)
    if (fields > MAX_FIELDS) throw tooLarge(`The ${what} has ${fields} fields, and may have ${MAX_FIELDS}.`)
    if (depth > MAX_DEPTH) throw tooLarge(`The ${what} has ${depth} levels, and may have ${MAX_DEPTH}.`)
  }
}

function tooLarge(message: string): Error {
  return fault('request-invalid', { message, hint: 'Ask for less, in several requests.' })
}
