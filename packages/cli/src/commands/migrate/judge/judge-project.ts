import { isRecord } from '@windlass/kit/json'
import { ProjectInput } from '@windlass/protocol'
import { stringify } from 'yaml'
import { isMasked } from './masked-values.ts'
import type { Recognized } from './recognize.ts'
import { settingProblems, type Remark, type Verdict } from './verdict.ts'

/** Returns the text of a value; a list or mapping as JSON. */
function scalarText(value: unknown): string {
  if (typeof value === 'string') return value
  return value === undefined || value === null ? '' : JSON.stringify(value)
}

interface Variable {
  readonly key: string
  readonly value: unknown
  readonly isSecret: boolean
}

/** Judges a project. Its variables are a list as in an account, or a mapping. */
export function judgeProject({ name, document: { from }, spec }: Recognized): Verdict {
  const written = listVariables(spec['variables'])
  const open = written.filter(({ isSecret }) => !isSecret)
  const remarks: Remark[] = written
    .filter(({ isSecret }) => isSecret)
    .map(({ key }) => ({
      path: `spec.variables.${key}`,
      reason: `The variable "${key}" is encrypted, and variables of projects are not.`,
      action: 'Set it again in a context of type secret, and list the context in spec.contexts of the pipelines.',
    }))
  const tags = spec['tags']
  if (Array.isArray(tags) && tags.length > 0)
    remarks.push({ path: 'spec.tags', reason: 'Tags of projects are not stored.', action: 'Use labels of the pipelines.' })
  const parsed = ProjectInput.safeParse({
    name,
    variables: Object.fromEntries(open.map(({ key, value }) => [key, scalarText(value)])),
  })
  if (!parsed.success) return { kind: 'project', name, from, reasons: settingProblems(parsed.error) }
  const { variables } = parsed.data
  const text = stringify({ kind: 'project', metadata: { name }, spec: { variables } }, { lineWidth: 0 })
  return { from, remarks, resource: { kind: 'project', name, text, body: parsed.data, masked: [] } }
}

function listVariables(written: unknown): Variable[] {
  if (Array.isArray(written))
    return written.flatMap((one: unknown) =>
      isRecord(one) && typeof one['key'] === 'string'
        ? [{ key: one['key'], value: one['value'], isSecret: one['encrypted'] === true || isMasked(one['value']) }]
        : [],
    )
  return isRecord(written) ? Object.entries(written).map(([key, value]) => ({ key, value, isSecret: isMasked(value) })) : []
}
