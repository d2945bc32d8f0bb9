/** The usage of one step in one attempt, from its events in order. Pure. */
import { PhaseStart, STEP_PHASES, Usage, type StepUsage, type UsagePoint } from '@windlass/protocol'
import { z } from 'zod'
import type { EventRow } from '../../store/schema/schema.ts'

type Event = Pick<EventRow, 'type' | 'at' | 'data'>
type Phase = StepUsage['phases'][number]

const Sampled = z.object({ usage: Usage })
const Begun = z.object({ phase: z.enum(STEP_PHASES), since: z.number() })
const Held = z.object({ reason: z.literal('debugger') })
const Finished = z.object({ phases: z.array(PhaseStart).optional(), usage: Usage.optional() })

interface Sample {
  readonly at: number
  readonly memory: number | undefined
  readonly cpuMs: number | undefined
}

/** Collects the events of a step. */
export class UsageSeries {
  readonly #samples: Sample[] = []
  #startedAt: number | undefined
  #limit: number | undefined
  #begun: PhaseStart[] = []
  readonly #holds: { readonly from: number; to?: number }[] = []
  #finishedAt: number | undefined

  /** Adds an event. Ignores what it does not know. */
  add({ type, at, data }: Event): void {
    const fields: unknown = JSON.parse(data)
    if (type === 'step.started') this.#startedAt ??= at
    if (type === 'step.started' || type === 'step.waiting' || type === 'step.finished') this.#endHold(at)
    if (type === 'step.waiting' && Held.safeParse(fields).success) this.#holds.push({ from: at })
    if (type === 'step.usage') this.#sample(at, Sampled.safeParse(fields).data?.usage)
    if (type === 'step.phase') {
      const begun = Begun.safeParse(fields).data
      if (begun !== undefined) this.#begun.push({ phase: begun.phase, at: begun.since })
    }
    if (type === 'step.finished') {
      const { phases, usage } = Finished.safeParse(fields).data ?? {}
      this.#finishedAt = at
      if (phases !== undefined) this.#begun = phases
      this.#limit ??= usage?.memoryLimitBytes
    }
  }

  get isEmpty(): boolean {
    return this.#samples.length + this.#begun.length + this.#holds.length === 0
  }

  /** Returns the usage with at most `maxPoints` points. */
  describe(maxPoints: number): Omit<StepUsage, 'step' | 'attempt'> {
    return {
      points: this.#points(maxPoints),
      ...(this.#limit !== undefined && { memoryLimitBytes: this.#limit }),
      phases: this.#phases(),
      ...(this.#holds.length > 0 && { holds: this.#holds }),
    }
  }

  /** A held step continues, ends, or is held at another phase. */
  #endHold(at: number): void {
    const last = this.#holds.at(-1)
    if (last !== undefined) last.to ??= at
  }

  #sample(at: number, usage: z.output<typeof Usage> | undefined): void {
    if (usage === undefined) return
    this.#limit = usage.memoryLimitBytes ?? this.#limit
    this.#samples.push({ at, memory: usage.memoryBytes ?? usage.memoryPeakBytes, cpuMs: usage.cpuMs })
  }

  /** Joins neighbors until there are few enough: the highest memory, and the average of the processors. */
  #points(maxPoints: number): UsagePoint[] {
    const size = Math.ceil(this.#samples.length / maxPoints)
    const points: UsagePoint[] = []
    let before: Sample = { at: this.#startedAt ?? this.#samples[0]?.at ?? 0, memory: undefined, cpuMs: 0 }
    for (let from = 0; from < this.#samples.length; from += size) {
      const group = this.#samples.slice(from, from + size)
      const last = group.at(-1) ?? before
      const memory = group.flatMap((sample) => sample.memory ?? [])
      const processors = processorsBetween(before, last)
      points.push({
        at: last.at,
        ...(memory.length > 0 && { memoryBytes: Math.max(...memory) }),
        ...(processors !== undefined && { processors }),
      })
      before = last
    }
    return points
  }

  #phases(): Phase[] {
    return this.#begun.map(({ phase, at }, index) => {
      const to = this.#begun[index + 1]?.at ?? this.#finishedAt
      return { phase, from: at, ...(to !== undefined && { to: Math.max(at, to) }) }
    })
  }
}

/** Returns the processors in use between two samples, to three digits; undefined if they were not measured. */
function processorsBetween(before: Sample, after: Sample): number | undefined {
  const ms = after.at - before.at
  if (before.cpuMs === undefined || after.cpuMs === undefined || ms <= 0) return undefined
  return Math.max(0, Math.round(((after.cpuMs - before.cpuMs) / ms) * 1000) / 1000)
}
