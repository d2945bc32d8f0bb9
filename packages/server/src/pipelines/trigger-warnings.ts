/** Warnings about triggers of a document that start no builds. */
import { parseYaml, type Diagnostic, type Source } from '@windlass/pipeline'
import type { TriggerProblem } from '../triggers/read-triggers.ts'

const MAX_WARNINGS = 100

type Node = NonNullable<ReturnType<typeof parseYaml>['root']>

/** Adds the place in the document to each problem. */
export function triggerWarnings(
  { text, file }: Source,
  field: 'triggers' | 'cronTriggers',
  problems: readonly TriggerProblem[],
): Diagnostic[] {
  if (problems.length === 0) return []
  const { root, source } = parseYaml({ text, file })
  const list = childOf(childOf(root, 'spec'), field)
  return problems.slice(0, MAX_WARNINGS).map(({ index, message }) => {
    const range = (list?.kind === 'list' ? list.items[index]?.range : undefined) ?? { start: 0, end: 0 }
    const end = source.placeOf(range.end)
    return {
      file,
      ...source.placeOf(range.start),
      endLine: end.line,
      endColumn: end.column,
      severity: 'warning',
      code: 'no-effect',
      message,
      hint: 'Correct the trigger, or remove it.',
      path: `spec.${field}[${index}]`,
    }
  })
}

function childOf(node: Node | undefined, key: string): Node | undefined {
  return node?.kind === 'map' ? node.entries.get(key)?.value : undefined
}
