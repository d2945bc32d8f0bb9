/** A control plane, an agent and fake engines in this process, for tests of one behavior. It starts quickly, and every seam can be wrapped. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { startAgent, type OpenExecutor } from '@windlass/agent'
import {
  openFakeCluster,
  type FakeCluster,
  type FakeClusterOptions,
  type FakeObservation,
  type FakeScript,
} from '../../support/fake-engines/index.ts'
import { defined, isFault, nodeTransport, openLog, systemClock as clock } from '@windlass/kit'
import { isFinalBuild } from '@windlass/plan'
import { openClient, type ApiClient } from '@windlass/client'
import type { Build, Transport } from '@windlass/protocol'
import { startServer, type Timings } from '@windlass/server'
import type { History, StepShape } from '../history/history.ts'
import { collectBuild, listBuilds, ONCE_MS } from './collect.ts'
import { prepare, RUNTIME } from './prepare.ts'
import { openRecorder, type Recorder } from './recorder.ts'
import { openRequests, type Requests } from './requests.ts'
import { FAST } from './stage.ts'
import { firstAdmin } from '../../support/first-admin.ts'
import { memoryFolder } from '../../support/memory-folder.ts'

export interface LabOptions {
  readonly script?: Partial<FakeScript>
  readonly timings?: Partial<Timings>
  readonly databaseUrl?: string
  /** Disables the log of the server, because the errors are intended. */
  readonly isQuiet?: boolean
  /** Wraps the requests of engines. */
  readonly transport?: (inner: Transport) => Transport
  /** Called by every running step; the step continues when this resolves. */
  readonly holdStep?: FakeClusterOptions['holdStep']
  /** Wraps the executor of the agent. */
  readonly executor?: (inner: OpenExecutor) => OpenExecutor
}

export interface Lab extends AsyncDisposable {
  readonly url: string
  readonly client: ApiClient
  readonly cluster: FakeCluster
  readonly recorder: Recorder
  readonly requests: Requests
  readonly observations: readonly FakeObservation[]
  /** Starts a build of these steps, which run in sequence. Returns its id. */
  trigger(...steps: readonly string[]): Promise<string>
  /** Resolves when the build is final. */
  finished(buildId: string): Promise<Build>
  /** Resolves when no objects of the attempts of a build are left. */
  cleaned(buildId: string): Promise<void>
  /** Resolves with the first matching observation, including earlier ones. */
  seen(fits: (observation: FakeObservation) => boolean): Promise<FakeObservation>
  /** Resolves when the server has stored this many events of a type. */
  stored(buildId: string, type: string, count: number): Promise<void>
  /** Returns the history for the checker. Waits until the objects of final builds are removed. */
  history(): Promise<History>
}

const WAIT_MS = 120_000

/** Opens a lab in a temporary folder. */
export async function openLab(options: LabOptions = {}): Promise<Lab> {
  const startedAt = clock.now()
  const folder = await memoryFolder('windlass-lab-')
  const log = openLog({ level: options.isQuiet === true ? 'silent' : 'error', name: 'lab' })
  const { databaseUrl } = options
  const dataDir = join(folder, 'server-0')
  const server = await startServer({ dataDir, databaseUrl, log, timings: { ...FAST, ...options.timings }, minFreeShare: 0 })
  const bare = openClient({ url: server.url, transport: nodeTransport() })
  const { code } = await firstAdmin(dataDir)
  const stage = await prepare(bare, code)
  const client = bare.withToken(stage.adminToken)
  const observations: FakeObservation[] = []
  const watchers = new Set<() => void>()
  const recorder = openRecorder()
  const script: FakeScript = { ...LAB_SCRIPT, ...options.script }
  const cluster = openFakeCluster({
    transport: recorder.watch((options.transport ?? same)(nodeTransport({ maxSockets: 256 }))),
    clock,
    log,
    script,
    ...defined({ holdStep: options.holdStep }),
    observe: (observation) => {
      recorder.observe(observation)
      observations.push(observation)
      for (const watcher of watchers) watcher()
    },
  })
  const executor = (options.executor ?? same)(cluster.executor)
  const agent = startAgent({ client: bare.withToken(stage.agentTokens[0] ?? ''), executor, clock, log, waitMs: 5_000 })
  await agent.ready
  const requests = openRequests({ client, clock, settleMs: WAIT_MS })

  const lab: Lab = {
    url: server.url,
    client,
    cluster,
    recorder,
    requests,
    observations,
    async trigger(...names) {
      const steps = names.map((name, n): StepShape => ({ name, after: names.slice(Math.max(0, n - 1), n), failFast: true }))
      const key = `lab-${requests.operations.length + 1}`
      const id = await requests.trigger({
        key,
        pipeline: 'chaos/free',
        runtime: RUNTIME,
        steps,
        deadlineMs: WAIT_MS,
        secrets: {},
      })
      if (id === undefined) throw new Error(`trigger ${key} was refused: ${JSON.stringify(requests.operations.at(-1))}`)
      return id
    },
    async finished(buildId) {
      const until = clock.now() + WAIT_MS
      for (;;) {
        // The wake-up of a longer call may be lost with the database.
        const build = await client.builds.wait(buildId, { query: { timeoutMs: 1_000 } }).catch(unlessPassing)
        if (build !== undefined && isFinalBuild(build.status)) return build
        if (clock.now() > until) throw new Error(`build ${buildId} is still ${build?.status} (${build?.reason})`)
        if (build === undefined) await clock.sleep(20)
      }
    },
    async cleaned(buildId) {
      const until = AbortSignal.timeout(WAIT_MS)
      for (;;) {
        const { attempts = [] } = await client.builds.get(buildId)
        if (attempts.every(({ status }) => status === 'ended')) return
        until.throwIfAborted()
        await clock.sleep(20)
      }
    },
    async seen(fits) {
      const until = AbortSignal.timeout(WAIT_MS)
      for (;;) {
        const found = observations.find(fits)
        if (found !== undefined) return found
        until.throwIfAborted()
        const { promise, resolve } = Promise.withResolvers<void>()
        const timer = setTimeout(resolve, 200)
        watchers.add(resolve)
        await promise
        watchers.delete(resolve)
        clearTimeout(timer)
      }
    },
    async stored(buildId, type, count) {
      const until = AbortSignal.timeout(WAIT_MS)
      for (;;) {
        const { items } = await client.builds.feed(buildId)
        if (items.filter((item) => item.kind === 'event' && item.type === type).length >= count) return
        until.throwIfAborted()
        await clock.sleep(10)
      }
    },
    async history() {
      await agent.idle()
      const builds = await listBuilds(client, ONCE_MS)
      await Promise.all(builds.filter(({ status }) => isFinalBuild(status)).map(({ id }) => lab.cleaned(id)))
      return {
        seed: script.seed,
        startedAt,
        endedAt: clock.now(),
        limits: stage.limits,
        secrets: [],
        operations: requests.operations,
        engines: recorder.traces(script),
        builds: await Promise.all(builds.map(({ id }) => collectBuild(client, id))),
        sightings: [],
        leftovers: [],
        texts: [],
        harms: recorder.harms,
      }
    },
    async [Symbol.asyncDispose]() {
      await agent.close(1_000)
      await cluster.close()
      await server.close()
      await rm(folder, { recursive: true })
    },
  }
  return lab
}

const LAB_SCRIPT: FakeScript = {
  seed: 1,
  startMs: [0, 0],
  stepMs: [10, 20],
  logBytes: [200, 2_000],
  pieceBytes: 1_024,
  failChance: 0,
  crashChance: {},
  silentChance: 0,
  stopMs: 0,
  leaks: [],
}

/** Retries a read that fails temporarily, for example while a test breaks the database. */
function unlessPassing(error: unknown): undefined {
  if (!isFault(error) || !(error.retryable || error.code === 'internal')) throw error
}

function same<T>(value: T): T {
  return value
}
