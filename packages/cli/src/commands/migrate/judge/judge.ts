/** Decides for each document what becomes of it. Pure: reads and writes nothing. */
import { judgeContext } from './judge-context.ts'
import { judgePipeline } from './judge-pipeline.ts'
import { judgeProject } from './judge-project.ts'
import { judgeStepType } from './judge-step-type.ts'
import { referencesOf } from './references.ts'
import { recognize, type Recognized } from './recognize.ts'
import type { Surroundings, Left, Moved, SourceDocument, Verdict } from './verdict.ts'

/** Returns a verdict for each document that is one of ours: those that cannot be read, then the others in the order in which they are written. */
export function judge(documents: readonly SourceDocument[], surroundings: Surroundings): Verdict[] {
  const results = documents.flatMap((document) => recognize(document) ?? [])
  const left = results.flatMap((result): Left[] => ('reasons' in result ? [result] : []))
  const recognized = results.flatMap((result): Recognized[] => ('reasons' in result ? [] : [result]))
  const of = (kind: Recognized['kind']): Recognized[] => recognized.filter((one) => one.kind === kind)
  const projects = withoutRepeats(of('project').map(judgeProject))
  const stepTypes = withoutRepeats(of('step-type').map(judgeStepType))
  const contexts = withoutRepeats(of('context').map(judgeContext))
  const references = referencesOf([...stepTypes, ...contexts], surroundings)
  const pipelines = withoutRepeats(of('pipeline').map((one) => judgePipeline(one, references)))
  return [...left, ...projects, ...stepTypes, ...contexts, ...pipelines]
}

/** Leaves a resource that an earlier document also has. */
function withoutRepeats(verdicts: readonly Verdict[]): Verdict[] {
  const first = new Map<string, Moved>()
  return verdicts.map((verdict) => {
    if ('reasons' in verdict) return verdict
    const { kind, name } = verdict.resource
    const before = first.get(name)
    if (before === undefined) {
      first.set(name, verdict)
      return verdict
    }
    const reason = `The ${kind} "${name}" is also in ${before.from}, which is used.`
    return { kind, name, from: verdict.from, reasons: [{ path: 'metadata.name', reason, action: 'Rename one of them.' }] }
  })
}
