/** Decides for each document what becomes of it. Pure: reads and writes nothing. */
import { keepDefaults } from './default-contexts.ts'
import { judgeContext } from './judge-context.ts'
import { judgePipeline } from './judge-pipeline.ts'
import { judgeProject } from './judge-project.ts'
import { judgeStepType } from './judge-step-type.ts'
import { referencesOf } from './references.ts'
import { recognize, type Recognized } from './recognize.ts'
import type { Surroundings, Left, Moved, SourceDocument, Verdict } from './verdict.ts'

/**
 * Returns a verdict for each document that is one of ours: those that cannot be read, then the others in the order in which they are written. Yields after
 * each document, because judging thousands takes minutes and the caller has to notice an interrupt in between.
 */
export function* judge(documents: readonly SourceDocument[], surroundings: Surroundings): Generator<undefined, Verdict[]> {
  const left: Left[] = []
  const recognized: Recognized[] = []
  for (const document of documents) {
    const result = recognize(document)
    if (result !== undefined && 'reasons' in result) left.push(result)
    else if (result !== undefined) recognized.push(result)
    yield
  }
  const of = (kind: Recognized['kind']): Recognized[] => recognized.filter((one) => one.kind === kind)
  const projects = yield* judgeEach(of('project'), judgeProject)
  const stepTypes = yield* judgeEach(of('step-type'), judgeStepType)
  const contexts = (yield* judgeEach(of('context'), judgeContext)).map(keepDefaults(surroundings))
  const references = referencesOf([...stepTypes, ...contexts], surroundings)
  const pipelines = yield* judgeEach(of('pipeline'), (one) => judgePipeline(one, references))
  return [...left, ...projects, ...stepTypes, ...contexts, ...pipelines]
}

/** Judges documents of one kind. Leaves a resource that an earlier document also has. */
function* judgeEach(recognized: readonly Recognized[], judgeOne: (one: Recognized) => Verdict): Generator<undefined, Verdict[]> {
  const first = new Map<string, Moved>()
  const verdicts: Verdict[] = []
  for (const one of recognized) {
    verdicts.push(withoutRepeat(judgeOne(one), first))
    yield
  }
  return verdicts
}

function withoutRepeat(verdict: Verdict, first: Map<string, Moved>): Verdict {
  if ('reasons' in verdict) return verdict
  const { kind, name } = verdict.resource
  const before = first.get(name)
  if (before === undefined) {
    first.set(name, verdict)
    return verdict
  }
  const reason = `The ${kind} "${name}" is also in ${before.from}, which is used.`
  return { kind, name, from: verdict.from, reasons: [{ path: 'metadata.name', reason, action: 'Rename one of them.' }] }
}
