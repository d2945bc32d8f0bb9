/** A control plane, an agent and fake engines inside this process, for tests of one behaviour: quick to start, every seam can be wrapped. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startAgent, type OpenExecutor } from '@windlass/agent'
import { openFakeCluster, type FakeCluster, type FakeObservation, type FakeScript } from '@windlass/agent/fake'
import { isFault, nodeTransport, openLog, systemClock as clock } from '@windlass/kit'
import { isFinalBuild } from '@windlass/plan'
import { Build, createClient, FeedItem, type Client, type Transport } from '@windlass/protocol'
import { startServer, type Timings } from '@windlass/server'
import { z } from 'zod'
import type { History, StepShape } from '../history/history.ts'
import { collectBuild, listBuilds } from './collect.ts'
import { prepare, RUNTIME } from './prepare.ts'
import { openRecorder, type Recorder } from './recorder.ts'
import { openRequests, type Requests } from './requests.ts'
import { FAST } from './stage.ts'

export interface LabOptions {
  readonly script?: Partial<FakeScript>
  readonly timings?: Partial<Timings>
  readonly databaseUrl?: string
  /** Wraps what engines send. */
  readonly transport?: (inner: Transport) => Transport
  /** Wraps what the agent does in the cluster. */
  readonly executor?: (inner: OpenExecutor) => OpenExecutor
}

export interface Lab extends AsyncDisposable {
  readonly url: string
  readonly client: Client
  readonly cluster: FakeCluster
  readonly recorder: Recorder
  readonly requests: Requests
  readonly observations: readonly FakeObservation[]
  /** Starts a build of these steps, in a row; answers its id. */
  trigger(...steps: readonly string[]): Promise<string>
  /** Resolves when the build is final. */
  finished(buildId: string): Promise<Build>
  /** Resolves with the first observation that fits, also when it was made before. */
  seen(fits: (observation: FakeObservation) => boolean): Promise<FakeObservation>
  /** Resolves when the server has stored so many events of a type. */
  stored(buildId: string, type: string, count: number): Promise<void>
  /** All that is known, for the checker. Waits for removal of what final builds left. */
  history(): Promise<History>
}

const WAIT_MS = 30_000
const FeedPage = z.object({ items: z.array(FeedItem) })

/** Opens a lab in a temporary folder. */
export async function openLab(options: LabOptions = {}): Promise<Lab> {
  const startedAt = clock.now()
  const folder = await mkdtemp(join(tmpdir(), 'windlass-lab-'))
  const log = openLog({ level: 'error', name: 'lab' })
  const { databaseUrl } = options
  const dataDir = join(folder, 'server-0')
  const server = await startServer({ dataDir, databaseUrl, log, timings: { ...FAST, ...options.timings }, minFreeShare: 0 })
  const bare = createClient({ url: server.url, transport: nodeTransport() })
  const stage = await prepare(bare)
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
    observe: (observation) => {
      recorder.observe(observation)
      observations.push(observation)
      for (const watcher of watchers) watcher()
    },
  })
  const executor = (options.executor ?? same)(cluster.executor)
  const agent = startAgent({ client: bare.withToken(stage.agentToken), executor, clock, log, waitMs: 5_000 })
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
        const build = await client.call('GET', `/v1/builds/${buildId}`, Build).catch(unlessPassing)
        if (build !== undefined && isFinalBuild(build.status)) return build
        if (clock.now() > until) throw new Error(`build ${buildId} is still ${build?.status} (${build?.reason})`)
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
        const { items } = await client.call('GET', `/v1/builds/${buildId}/feed`, FeedPage)
        if (items.filter((item) => item.kind === 'event' && item.type === type).length >= count) return
        until.throwIfAborted()
        await clock.sleep(10)
      }
    },
    async history() {
      await agent.idle()
      const builds = await listBuilds(client)
      return {
        seed: script.seed,
        startedAt,
        endedAt: clock.now(),
        limits: stage.limits,
        cancelReachMs: 1_000,
        secrets: [],
        operations: requests.operations,
        engines: recorder.traces(script),
        builds: await Promise.all(builds.map(({ id }) => collectBuild(client, id))),
        sightings: [],
        leftovers: [],
        texts: [],
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
  frameBytes: 1_024,
  failChance: 0,
  crashChance: {},
  silentChance: 0,
  stopMs: 0,
}

/** A look that fails in passing, as when a test breaks the database, is made again. */
function unlessPassing(error: unknown): undefined {
  if (!isFault(error) || !(error.retryable || error.code === 'internal')) throw error
}

function same<T>(value: T): T {
  return value
}
