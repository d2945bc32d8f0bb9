/** What the complete form of a build says about a step beyond its state: its image, its condition and its log. */
import { explainWhen, plannedImageOf, scopesOf, type BuildContext, type Plan, type Snapshot } from '@windlass/plan'
import { stepStream, type BuildStep, type StepLog, type StepWhen } from '@windlass/protocol'
import { totalLines } from '../../logs/text/line-count.ts'
import type { StreamRow } from '../../store/schema/schema.ts'

/** Conditions are explained while their number times the number of steps is at most this, and always ten of them. */
const MAX_WORK = 1_000_000

export interface StepFactsInput {
  readonly plan: Plan
  /** Sealed values may be sealed. */
  readonly snapshot: Snapshot
  readonly context: BuildContext
  /** All streams of the build. */
  readonly streams: readonly StreamRow[]
}

export type StepFacts = Pick<BuildStep, 'image' | 'when' | 'logs'>

/** Returns the facts of each step of a build, by its name. */
export function stepFactsOf({ plan, snapshot, context, streams }: StepFactsInput): Map<string, StepFacts> {
  const logs = logsOf(streams)
  const open = { ...snapshot, exports: snapshot.exports.filter(({ secret }) => !secret) }
  const scopes = scopesOf({ plan, snapshot: open })
  let rest = Math.max(10, Math.floor(MAX_WORK / Math.max(1, plan.steps.length)))
  const facts = new Map<string, StepFacts>()
  for (const step of plan.steps) {
    const reported = snapshot.steps[step.name]?.image
    const name = reported?.name ?? plannedImageOf(step, scopes({ step: step.name }))
    const when = step.when === undefined || rest <= 0 ? undefined : explainWhen(step, { plan, snapshot, context })
    if (when !== undefined) rest -= 1
    const own = logs.get(stepStream(step.name))
    facts.set(step.name, {
      ...(name !== undefined && { image: reported === undefined ? { name } : { ...reported, name } }),
      ...(when !== undefined && { when: toWhen(when) }),
      ...(own !== undefined && { logs: own }),
    })
  }
  return facts
}

function toWhen({ parts, ...known }: NonNullable<ReturnType<typeof explainWhen>>): StepWhen {
  return { ...known, parts: parts.map((part) => ({ ...part, values: part.values.map((value) => ({ ...value })) })) }
}

function logsOf(streams: readonly StreamRow[]): Map<string, StepLog[]> {
  const logs = new Map<string, StepLog[]>()
  for (const row of streams) {
    const { attempt, bytes, stream } = row
    const log = { attempt, bytes, ...(row.counted >= bytes && { lines: totalLines(row) }) }
    const known = logs.get(stream)
    if (known === undefined) logs.set(stream, [log])
    else known.push(log)
  }
  return logs
}
