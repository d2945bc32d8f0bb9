/** What can be observed of a build on every executor: facts about its steps in order, and their logs. */
import type { EngineEvent } from '@windlass/protocol'

export interface Observed {
  readonly status: string
  readonly reason?: string | undefined
  /** Problems of an invalid document, as `code line:column`. */
  readonly problems: readonly string[]
  /** In the order in which the engine reported them. */
  readonly facts: readonly Fact[]
  /** Output without the engine's own lines. */
  readonly output: ReadonlyMap<string, string>
  readonly log: ReadonlyMap<string, string>
}

export interface Fact {
  readonly step: string
  readonly kind: 'started' | 'waiting' | 'decided' | 'finished'
  /** The attempt that reported it. */
  readonly attempt: number
  /** Epoch milliseconds. */
  readonly at: number
  readonly text: string
  readonly status?: string
  readonly reason?: string | undefined
  readonly message?: string | undefined
}

/** Collects a build's events and output. */
export class Observation {
  readonly facts: Fact[] = []
  readonly #log = new Map<string, Buffer[]>()

  event(event: EngineEvent, attempt = 1): void {
    const fact = toFact(event)
    if (fact !== undefined) this.facts.push({ ...fact, attempt })
  }

  output(stream: string, bytes: Uint8Array): void {
    const step = stream.replace(/^step\//, '')
    this.#log.set(step, [...(this.#log.get(step) ?? []), Buffer.from(bytes)])
  }

  logOf(step: string): string {
    return Buffer.concat(this.#log.get(step) ?? []).toString('utf8')
  }

  result(end: Pick<Observed, 'status' | 'reason'> & { readonly problems?: readonly string[] }): Observed {
    const log = new Map([...this.#log.keys()].map((step) => [step, this.logOf(step)]))
    const output = new Map([...log].map(([step, text]) => [step, text.replaceAll(/^.*\[SYSTEM\].*\n/gm, '')]))
    return { problems: [], ...end, facts: this.facts, log, output }
  }
}

function toFact(event: EngineEvent): Omit<Fact, 'attempt'> | undefined {
  switch (event.type) {
    case 'step.started':
      return { step: event.step, at: event.at, kind: 'started', text: `started, try ${event.try}` }
    case 'step.waiting':
      return { step: event.step, at: event.at, kind: 'waiting', text: `waiting: ${event.reason}` }
    case 'step.decided':
      return {
        step: event.step,
        at: event.at,
        kind: 'decided',
        text: event.decision,
        ...{
          approved: { status: 'success' },
          denied: { status: 'error', reason: 'denied' },
          terminated: { status: 'terminated' },
        }[event.decision],
      }
    case 'step.finished': {
      const { step, at, status, reason, message, exitCode, exports } = event
      const exported = exports.map(({ name, secret }) => (secret ? `${name} (secret)` : name)).toSorted()
      const parts = [
        status,
        ...(reason === undefined ? [] : [reason]),
        ...(exitCode === undefined ? [] : [`exit ${exitCode}`]),
        ...(exported.length === 0 ? [] : [`exports ${exported.join(', ')}`]),
      ]
      return { step, at, kind: 'finished', text: parts.join(', '), status, reason, message }
    }
    default:
      return undefined
  }
}

/**
 * Formats one line per fact, grouped by step, then the end of the build. Steps are sorted by name, so that two runs of a case give the same lines
 * although parallel steps report in any order.
 */
export function toLines({ facts, status, reason, problems }: Observed): string {
  const steps = [...new Set(facts.map(({ step }) => step))].toSorted()
  const lines = steps.flatMap((step) => facts.filter((fact) => fact.step === step).map(({ text }) => `${step}: ${text}`))
  return [...lines, ...problems, `build: ${[status, ...(reason === undefined ? [] : [reason])].join(', ')}`, ''].join('\n')
}
