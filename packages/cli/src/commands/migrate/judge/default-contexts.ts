/** The default context of each type: a context that moves does not take its place. */
import type { ContextInput } from '@windlass/protocol'
import { contextText } from './judge-context.ts'
import type { Moved, Remark, Surroundings, Verdict } from './verdict.ts'

/**
 * Returns a function that takes the verdicts about contexts in their order. A context moves without being the default if its type already has another default,
 * because pipelines that name no context would use the credentials of the source.
 */
export function keepDefaults({ contexts = [], defaults }: Surroundings): (verdict: Verdict) => Verdict {
  const moving = new Map<ContextInput['type'], string>()
  return (verdict) => {
    if ('reasons' in verdict || verdict.resource.kind !== 'context' || !verdict.resource.body.isDefault) return verdict
    const { type, name } = verdict.resource.body
    const stored = contexts.find((one) => one.isDefault && one.type === type && one.name !== name)
    const other = moving.get(type) ?? (defaults === 'kept' ? stored?.name : undefined)
    if (other !== undefined) return withoutDefault(verdict, verdict.resource.body, other)
    moving.set(type, name)
    return defaults === undefined ? { ...verdict, remarks: [unknownDefault(type), ...verdict.remarks] } : verdict
  }
}

function withoutDefault({ from, resource, remarks }: Moved, { type, name, data }: ContextInput, other: string): Moved {
  const body = { name, type, data, isDefault: false }
  const remark: Remark = {
    path: 'metadata.default',
    reason: `The context "${other}" is already the default of type ${type}, so this one does not become the default.`,
    action: 'Set `default: true` with `windlass apply` to change that.',
  }
  const changed = { kind: 'context', name, text: contextText(body), body, masked: resource.masked } as const
  return { from, resource: changed, remarks: [remark, ...remarks] }
}

function unknownDefault(type: ContextInput['type']): Remark {
  return {
    path: 'metadata.default',
    reason: `\`windlass apply\` makes this context the default of type ${type}.`,
    action: 'Remove `default: true` from the file if the server has another default.',
  }
}
