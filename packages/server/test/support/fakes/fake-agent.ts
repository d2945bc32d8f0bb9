/** A minimal agent and engine that use the protocols over real HTTP, for tests that control each call. */
import { nodeTransport, sha256 } from '@windlass/kit'
import {
  AgentWelcome,
  ClaimAnswer,
  createClient,
  EngineClaimed,
  EventAck,
  FrameAck,
  PROTOCOL_VERSION,
  type Client,
  type EngineEventBody,
  type StartTask,
  type Task,
} from '@windlass/protocol'
import { z } from 'zod'

const hello = { protocol: PROTOCOL_VERSION, version: '0.0.0-test', features: [] }
const HOLD_MS = 5_000

export interface TestAgent {
  readonly client: Client
  readonly epoch: number
  /** Claims tasks. Without `waitMs` it claims again until there is one, because an election may take longer than a claim is held. */
  claim(waitMs?: number, room?: number): Promise<Task[]>
  report(task: Task, status: 'done' | 'failed' | 'refused', more?: { reason?: string; message?: string }): Promise<void>
  fact(fact: Record<string, unknown>): Promise<number>
}

let instances = 0

export async function helloAgent(
  url: string,
  token: string,
  instance = `instance-${(instances += 1)}-0000`,
  more: { executor?: string; serverUrl?: string } = {},
): Promise<TestAgent> {
  const client = createClient({ url, token, transport: nodeTransport() })
  const { epoch } = await client.call('POST', '/v1/agent/hello', AgentWelcome, {
    body: { ...hello, executor: 'fake', instance, attempts: [], ...more },
  })
  let seq = 0
  return {
    client,
    epoch,
    async claim(waitMs, room = 10) {
      const body = { epoch, room, waitMs: waitMs ?? HOLD_MS }
      for (;;) {
        const { tasks } = await client.call('POST', '/v1/agent/claim', ClaimAnswer, { body, timeoutMs: body.waitMs + 10_000 })
        if (tasks.length > 0 || waitMs !== undefined) return tasks
      }
    },
    async report(task, status, more = {}) {
      await client.call('POST', '/v1/agent/tasks', z.object({}), {
        body: { epoch, taskId: task.id, revision: task.revision, status, ...more },
      })
    },
    async fact(fact) {
      seq += 1
      const { ackSeq } = await client.call('POST', '/v1/agent/facts', z.object({ ackSeq: z.int() }), {
        body: { epoch, instance, facts: [{ seq, at: 1, ...fact }] },
      })
      return ackSeq
    },
  }
}

/** Claims tasks until one starts a build. A server that elects late answers without tasks. Stops of builds before it are done. */
export async function claimStart(agent: TestAgent): Promise<StartTask> {
  for (let tries = 0; tries < 10; tries += 1)
    for (const task of await agent.claim()) {
      if (task.kind === 'start-attempt') return task
      await agent.report(task, 'done')
    }
  throw new Error('no build was started')
}

export interface TestEngine {
  readonly client: Client
  readonly claimed: z.output<typeof EngineClaimed>
  event(body: EngineEventBody): Promise<number>
  /** Sends output. `at` is its time, epoch milliseconds. */
  log(stream: string, text: string, at?: number): Promise<number>
  /** Runs the attempt to its end: each step succeeds with a line of output. */
  succeed(): Promise<void>
  finish(outcome: { status: 'success' | 'error' | 'terminated'; reason?: string; message?: string }): Promise<void>
}

export async function startEngine(
  url: string,
  task: StartTask,
  claimKey = `claim-key-${task.buildId}-${task.attempt}`,
): Promise<TestEngine> {
  const anonymous = createClient({ url, token: task.engine.bootstrap, transport: nodeTransport() })
  const claimed = await anonymous.call('POST', '/v1/engine/claim', EngineClaimed, { body: { ...hello, claimKey } })
  const client = anonymous.withToken(claimed.token)
  const ends = new Map<string, { bytes: number; text: string }>()
  let seq = 0

  async function event(body: EngineEventBody): Promise<number> {
    seq += 1
    return (await client.call('POST', '/v1/engine/events', EventAck, { body: { events: [{ ...body, seq, at: Date.now() }] } }))
      .ackSeq
  }

  async function log(stream: string, text: string, at = 1): Promise<number> {
    const { bytes: offset, text: before } = ends.get(stream) ?? { bytes: 0, text: '' }
    const body = Buffer.from(text)
    const headers = {
      'x-windlass-stream': stream,
      'x-windlass-offset': String(offset),
      'x-windlass-sha256': sha256(body),
      'x-windlass-at': String(at),
    }
    const answer = await client.call('POST', '/v1/engine/logs', FrameAck, { body, headers })
    ends.set(stream, { bytes: offset + body.length, text: before + text })
    return answer.offset
  }

  async function finish(outcome: {
    status: 'success' | 'error' | 'terminated'
    reason?: string
    message?: string
  }): Promise<void> {
    const streams = Object.fromEntries([...ends].map(([stream, { bytes, text }]) => [stream, { bytes, sha256: sha256(text) }]))
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- tests use plain strings as reasons
    await event({ type: 'attempt.finished', outcome, streams } as EngineEventBody)
  }

  return {
    client,
    claimed,
    event,
    log,
    finish,
    async succeed() {
      await event({ type: 'attempt.started', engineVersion: '0', docker: { version: '0', api: '1.45' }, volumeKept: true })
      for (const { name } of claimed.plan.steps) {
        await event({ type: 'step.started', step: name, try: 1 })
        await log(`step/${name}`, `output of ${name}\n`)
        await event({ type: 'step.finished', step: name, try: 1, status: 'success', exitCode: 0, members: {}, exports: [] })
      }
      await finish({ status: 'success' })
    },
  }
}
