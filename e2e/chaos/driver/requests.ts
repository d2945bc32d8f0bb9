/**
 * Records the requests of the driver and their outcome: `ok`, `fail`, or `unknown` if no response arrived. An unknown trigger is repeated with the
 * same key until its outcome is known, as a careful client does.
 */
import { defined, isFault, type Clock, type Fault, type FaultCode } from '@windlass/kit'
import type { ApiClient } from '@windlass/client'
import type { Build } from '@windlass/protocol'
import type { DecideOperation, Operation, StepShape, TriggerOperation } from '../history/history.ts'
import { listBuilds } from './collect.ts'

export interface Demand {
  readonly key: string
  readonly pipeline: string
  readonly branch?: string
  readonly trigger?: string
  readonly runtime: string
  readonly steps: readonly StepShape[]
  readonly deadlineMs: number
  readonly secrets: Readonly<Record<string, string>>
  /** The document that real engines run. If absent, a document for fake engines. */
  readonly document?: string
  /** Key of the steps of a running build that start the build. They can neither choose its document nor its runtime. */
  readonly stepKey?: string
}

export interface Requests {
  readonly operations: readonly Operation[]
  /** Number of responses that were lost or temporarily refused, over all calls. */
  readonly retries: number
  /** Starts a build. Resolves when it is known whether the build exists. */
  trigger(demand: Demand): Promise<string | undefined>
  /** Decides about an approval as soon as it is requested. Repeats until the server returns the outcome, or until the build is final. */
  decide(demand: Pick<DecideOperation, 'step' | 'decision'> & { readonly buildId: string }): Promise<void>
  /** Cancels a build. Repeats like a trigger. */
  terminate(buildId: string): Promise<void>
}

export interface RequestOptions {
  readonly client: ApiClient
  readonly clock: Clock
  /** How long an unknown outcome is retried. Milliseconds. */
  readonly settleMs: number
  /** Aborted when pending requests cannot succeed anymore. */
  readonly giveUp?: AbortSignal
}

export function openRequests({ client, clock, settleMs, giveUp }: RequestOptions): Requests {
  const operations: Operation[] = []
  let retries = 0

  /**
   * Repeats the request until it gets a final response, and after responses that ask for a retry. When the run gives up, it sends one more
   * request, because a response is due by then.
   */
  async function settle<T>(
    ask: () => Promise<T>,
    { notYet, patienceMs = settleMs }: { notYet?: FaultCode; patienceMs?: number } = {},
  ): Promise<{ value: T } | { fault: string } | 'unknown'> {
    const until = clock.monotonic() + patienceMs
    for (let isLast = false; !isLast;) {
      isLast = clock.monotonic() >= until || giveUp?.aborted === true
      try {
        return { value: await ask() }
      } catch (error) {
        if (isFault(error) && isAnswer(error) && error.code !== notYet) return { fault: error.code }
        const isEarly = isFault(error) && error.code === notYet
        if (!isEarly) retries += 1
        await clock.sleep(isEarly ? ASK_AGAIN_MS : RETRY_MS)
      }
    }
    return 'unknown'
  }

  /** Finds the build of a request that got no answer. A call that was accepted has ended by then. */
  async function findByRevision(revision: string): Promise<{ value: Build } | undefined> {
    await clock.sleep(ASK_AGAIN_MS)
    const found = await settle(async () => (await listBuilds(client)).find((build) => build.revision === revision))
    return typeof found === 'object' && 'value' in found && found.value !== undefined ? { value: found.value } : undefined
  }

  return {
    operations,
    get retries() {
      return retries
    },
    async trigger(demand) {
      const { key, pipeline, branch = key, trigger, runtime, steps, deadlineMs, secrets, stepKey } = demand
      const { document = toDocument(steps) } = demand
      const at = clock.now()
      const caller = stepKey === undefined ? client : client.withToken(stepKey)
      const body = { pipeline, branch, revision: key, trigger, secrets, ...(stepKey === undefined && { runtime, document }) }
      const settled = await settle(() => caller.builds.create(body, { idempotencyKey: key, timeoutMs: 5_000 }))
      const refusal = typeof settled === 'object' && 'fault' in settled ? settled.fault : undefined
      // The key of a step ends with its attempt, and a server of the previous version cannot read the answers of a newer one (ADR 0089). Then no answer tells
      // whether an earlier call, or a copy that the network made, had an effect.
      const isUnclear = refusal !== undefined && (stepKey !== undefined || refusal === 'idempotency-mismatch')
      const answer = isUnclear ? ((await findByRevision(key)) ?? settled) : settled
      const buildId = typeof answer === 'object' && 'value' in answer ? answer.value.id : undefined
      const operation: TriggerOperation = {
        kind: 'trigger',
        id: operations.length + 1,
        at,
        endedAt: clock.now(),
        ...toResult(answer),
        ...defined({ buildId }),
        key,
        pipeline,
        runtime,
        steps,
        deadlineMs,
        isChild: stepKey !== undefined,
      }
      operations.push(operation)
      return buildId
    },
    async decide({ buildId, step, decision }) {
      const at = clock.now()
      const verb = decision === 'approved' ? 'approve' : 'deny'
      const answer = await settle(() => client.builds[verb](buildId, { step }, { timeoutMs: 5_000 }), {
        notYet: 'approval-missing',
        patienceMs: DECIDE_MS,
      })
      const base = { id: operations.length + 1, at, endedAt: clock.now(), ...toResult(answer), buildId }
      operations.push({ kind: 'decide', ...base, step, decision })
    },
    async terminate(buildId) {
      const at = clock.now()
      const answer = await settle(() => client.builds.terminate(buildId, { timeoutMs: 5_000 }))
      operations.push({ kind: 'terminate', id: operations.length + 1, at, endedAt: clock.now(), ...toResult(answer), buildId })
    },
  }
}

/** An approval may be requested late: how long to wait for it while its build is live, and how often to poll. */
const DECIDE_MS = 3_600_000
const ASK_AGAIN_MS = 500
/** Pause before a call whose response was lost is repeated. */
const RETRY_MS = 200

/** A final refusal. A conflict means that the first call with the same key is still in progress. */
function isAnswer(error: Fault): boolean {
  return !error.retryable && error.code !== 'internal' && error.code !== 'conflict'
}

function toResult(answer: { value: unknown } | { fault: string } | 'unknown'): Pick<Operation, 'result' | 'fault'> {
  if (answer === 'unknown') return { result: 'unknown' }
  return 'fault' in answer ? { result: 'fail', fault: answer.fault } : { result: 'ok' }
}

/** A document of freestyle steps and approvals. The fake engine runs none of their commands. Steps that are not in sequence run in parallel. */
export function toDocument(steps: readonly StepShape[]): string {
  const isRow = steps.every(({ after }, n) => after.length === Math.min(n, 1) && after[0] === steps[n - 1]?.name)
  const lines = steps.flatMap(({ name, after, failFast, isApproval = false }) =>
    isApproval
      ? [`  ${name}: { type: pending-approval }`]
      : [
          `  ${name}:`,
          `    image: windlass.local/shell:1`,
          `    fail_fast: ${failFast}`,
          `    commands:`,
          `      - echo ${name}`,
          ...(isRow || after.length === 0 ? [] : [`    when: { steps: [${after.map((other) => `{ name: ${other} }`).join()}] }`]),
        ],
  )
  return ['version: "1.0"', ...(isRow ? [] : ['mode: parallel']), 'steps:', ...lines, ''].join('\n')
}
