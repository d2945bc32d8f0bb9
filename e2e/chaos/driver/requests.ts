/**
 * What the driver asks of the control plane, written down with what came of it: `ok`, `fail`, or `unknown` when no answer came. An unknown
 * trigger is asked again with the same key until it is settled, as a careful client does.
 */
import { isFault, type Clock, type Fault, type FaultCode } from '@windlass/kit'
import { Build, type Client } from '@windlass/protocol'
import type { DecideOperation, Operation, StepShape, TriggerOperation } from '../history/history.ts'

export interface Demand {
  readonly key: string
  readonly pipeline: string
  readonly runtime: string
  readonly steps: readonly StepShape[]
  readonly deadlineMs: number
  readonly secrets: Readonly<Record<string, string>>
  /** What real engines run; of fake ones when absent. */
  readonly document?: string
}

export interface Requests {
  readonly operations: readonly Operation[]
  /** How many answers were lost or refused for the moment, over all calls. */
  readonly retries: number
  /** Starts a build; resolves when it is known whether there is one. */
  trigger(demand: Demand): Promise<string | undefined>
  /** Decides about an approval, as soon as it is asked for. Repeated until the server says what became of it, or the build is over. */
  decide(demand: Pick<DecideOperation, 'step' | 'decision'> & { readonly buildId: string }): Promise<void>
  /** Cancels a build. Repeated like a trigger. */
  terminate(buildId: string): Promise<void>
}

export interface RequestOptions {
  readonly client: Client
  readonly clock: Clock
  /** How long an unknown result is pursued, milliseconds. */
  readonly settleMs: number
}

export function openRequests({ client, clock, settleMs }: RequestOptions): Requests {
  const operations: Operation[] = []
  let retries = 0

  /** Asks until there is an answer: repeats what was not answered and what the server asks to repeat. */
  async function settle<T>(
    ask: () => Promise<T>,
    { notYet, patienceMs = settleMs }: { notYet?: FaultCode; patienceMs?: number } = {},
  ): Promise<{ value: T } | { fault: string } | 'unknown'> {
    const until = clock.monotonic() + patienceMs
    while (clock.monotonic() < until) {
      try {
        return { value: await ask() }
      } catch (error) {
        if (isFault(error) && isAnswer(error) && error.code !== notYet) return { fault: error.code }
        const isEarly = isFault(error) && error.code === notYet
        if (!isEarly) retries += 1
        await clock.sleep(isEarly ? ASK_AGAIN_MS : 50)
      }
    }
    return 'unknown'
  }

  return {
    operations,
    get retries() {
      return retries
    },
    async trigger(demand) {
      const { key, pipeline, runtime, steps, deadlineMs, secrets, document = toDocument(steps) } = demand
      const at = clock.now()
      const body = { pipeline, branch: key, runtime, secrets, document }
      const answer = await settle(() =>
        client.call('POST', '/v1/builds', Build, { body, headers: { 'idempotency-key': key }, timeoutMs: 5_000 }),
      )
      const buildId = typeof answer === 'object' && 'value' in answer ? answer.value.id : undefined
      const operation: TriggerOperation = {
        kind: 'trigger',
        id: operations.length + 1,
        at,
        endedAt: clock.now(),
        ...toResult(answer),
        ...(buildId !== undefined && { buildId }),
        key,
        pipeline,
        runtime,
        steps,
        deadlineMs,
      }
      operations.push(operation)
      return buildId
    },
    async decide({ buildId, step, decision }) {
      const at = clock.now()
      const verb = decision === 'approved' ? 'approve' : 'deny'
      const answer = await settle(
        () => client.text('POST', `/v1/builds/${buildId}/${verb}`, { body: { step }, timeoutMs: 5_000 }),
        { notYet: 'approval-missing', patienceMs: DECIDE_MS },
      )
      const base = { id: operations.length + 1, at, endedAt: clock.now(), ...toResult(answer), buildId }
      operations.push({ kind: 'decide', ...base, step, decision })
    },
    async terminate(buildId) {
      const at = clock.now()
      const answer = await settle(() => client.text('POST', `/v1/builds/${buildId}/terminate`, { timeoutMs: 5_000 }))
      operations.push({ kind: 'terminate', id: operations.length + 1, at, endedAt: clock.now(), ...toResult(answer), buildId })
    },
  }
}

/** An approval may be asked for late: how long it is waited for, and how often it is asked after. */
const DECIDE_MS = 170_000
const ASK_AGAIN_MS = 500

/** A refusal for good. A conflict is the first call with the same key, still under way. */
function isAnswer(error: Fault): boolean {
  return !error.retryable && error.code !== 'internal' && error.code !== 'conflict'
}

function toResult(answer: { value: unknown } | { fault: string } | 'unknown'): Pick<Operation, 'result' | 'fault'> {
  if (answer === 'unknown') return { result: 'unknown' }
  return 'fault' in answer ? { result: 'fail', fault: answer.fault } : { result: 'ok' }
}

/** A document of freestyle steps and approvals in a row; the fake engine runs none of their commands. */
export function toDocument(steps: readonly StepShape[]): string {
  const lines = steps.flatMap(({ name, failFast, isApproval = false }) =>
    isApproval
      ? [`  ${name}: { type: pending-approval }`]
      : [
          `  ${name}:`,
          `    image: windlass.local/shell:1`,
          `    fail_fast: ${failFast}`,
          `    commands:`,
          `      - echo ${name}`,
        ],
  )
  return ['version: "1.0"', 'steps:', ...lines, ''].join('\n')
}
