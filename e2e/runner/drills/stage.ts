/**
 * A stage for drills on the real cluster: an installation, builds whose steps report to a witness, and the checker of the chaos runs for
 * all observations. One stage serves a file of drills; every drill ends with `check`.
 */
import { defined, systemClock as clock } from '@windlass/kit'
import type { Kind } from '@windlass/kube'
import { isFinalBuild } from '@windlass/plan'
import type { Build } from '@windlass/protocol'
import { chaosConfig } from '../../chaos/config.ts'
import { collectBuild, listBuilds } from '../../chaos/driver/collect.ts'
import { openRequests } from '../../chaos/driver/requests.ts'
import { seededRandom, type Random } from '../../chaos/faults/random.ts'
import type { History, Violation } from '../../chaos/history/history.ts'
import { checkInvariants } from '../../chaos/history/invariants.ts'
import { eventually, startInstallation, type Installation, type InstallationOptions } from '../../support/installation.ts'
import { isLong } from '../../support/long.ts'
import { runTwice, shapesOf, tracesOf, type RealRecord, type Sightings, type StepWork } from './real-history.ts'
import { startWitness, type StepSpan } from './witness.ts'

/** A secret passed to every build, which must not appear anywhere. */
const SECRET = 'hunter2/drill+secret'
/** Longer than any drill delays the end of a build. Milliseconds. */
const DEADLINE_MS = 600_000
/** Limit of a build, and of each of its parts, on a busy machine. Milliseconds. */
const BUILD_MS = 240_000

/** Rounds of a drill: one for a gate, more to search for unknown failures. */
export const rounds = (long: number): number => (isLong ? long : 1)

export interface Stage extends AsyncDisposable {
  readonly installation: Installation
  readonly random: Random
  /** Starts a build of these steps in a row. Default: one step of five seconds. */
  trigger(work?: readonly StepWork[], runtime?: string): Promise<string>
  terminate(buildId: string): Promise<void>
  look(buildId: string): Promise<Build>
  /** Resolves when a step of the build has written a line. */
  speaks(buildId: string, timeoutMs?: number): Promise<StepSpan>
  finished(buildId: string, timeoutMs?: number): Promise<Build>
  /** Returns the names of the build's engine and daemon pods. */
  pods(buildId: string): Promise<string[]>
  /** Counts a fault that hit something alive. */
  landed(what: string): void
  /** Waits until final builds have no objects left, and checks everything since the last check. */
  check(): Promise<readonly Violation[]>
}

const FIVE_SECONDS: readonly StepWork[] = [{ name: 'count', lines: 50, pauseMs: 100 }]

export async function openStage(name: string, options: InstallationOptions = {}): Promise<Stage> {
  const namespace = `${name}-${process.pid}`
  const startedAt = clock.now()
  const random = seededRandom(chaosConfig.seed)
  const installation = await startInstallation(namespace, options)
  const { client, cluster } = installation
  const witness = await startWitness()
  const requests = openRequests({ client, clock, settleMs: 60_000 })
  const document = documentOf(installation, FIVE_SECONDS, witness.command)
  await client.pipelines.create({ name: 'drills/free', document })
  const works = new Map<string, readonly StepWork[]>()
  const counts: Record<string, number> = {}
  const sightings: Sightings = []
  const over = new AbortController()
  const watching = watch(installation, sightings, over.signal)

  async function leftovers(): Promise<History['leftovers']> {
    const label = 'windlass.io/build'
    const look = async (): Promise<History['leftovers']> => {
      const ofKind = async (kind: Kind): Promise<History['leftovers']> =>
        (await cluster.kube.list({ kind, namespace, labels: label, content: 'metadata' })).map(({ metadata }) => ({
          object: `${kind}/${metadata.name}`,
          buildId: metadata.labels?.[label] ?? '',
        }))
      return (await Promise.all((['Pod', 'Secret', 'PersistentVolumeClaim'] as const).map(ofKind))).flat()
    }
    await eventually('nothing is left', async () => ((await look()).length === 0 ? true : undefined)).catch(() => undefined)
    return look()
  }

  const stage: Stage = {
    installation,
    random,
    async trigger(work = FIVE_SECONDS, runtime = namespace) {
      const key = `${name}-${requests.operations.length + 1}`
      const demand = { key, pipeline: 'drills/free', runtime, steps: shapesOf(work), deadlineMs: DEADLINE_MS }
      const text = documentOf(installation, work, witness.command)
      const id = await requests.trigger({ ...demand, secrets: { TOKEN: SECRET }, document: text })
      if (id === undefined) throw new Error(`the build was refused: ${JSON.stringify(requests.operations.at(-1))}`)
      works.set(id, work)
      return id
    },
    terminate: (buildId) => requests.terminate(buildId),
    look: (buildId) => client.builds.get(buildId),
    async speaks(buildId, timeoutMs = BUILD_MS) {
      return eventually(
        `a step of ${buildId} writes`,
        async () => witness.spans.find((span) => span.buildId === buildId),
        timeoutMs,
      ).catch(async (error: unknown) => {
        throw new Error(`${JSON.stringify(await stage.look(buildId))}\n${installation.agent.log().slice(-3_000)}`, {
          cause: error,
        })
      })
    },
    async finished(buildId, timeoutMs = BUILD_MS) {
      let build: Build | undefined
      const ends = async (): Promise<Build | undefined> => {
        build = await stage.look(buildId).catch(() => undefined)
        return build !== undefined && isFinalBuild(build.status) ? build : undefined
      }
      return eventually(`${buildId} ends`, ends, timeoutMs).catch((error: unknown) => {
        throw new Error(`${JSON.stringify(build)}\n${installation.agent.log().slice(-3_000)}`, { cause: error })
      })
    },
    pods: (buildId) => installation.names('Pod', `windlass.io/build=${buildId}`),
    landed: (what) => void (counts[what] = (counts[what] ?? 0) + 1),
    async check() {
      const builds = await listBuilds(client)
      const left = await leftovers()
      const records: RealRecord[] = []
      for (const { id, attempts } of builds) {
        const record = await collectBuild(client, id)
        const whole = attempts ?? (await stage.look(id)).attempts ?? []
        records.push({ ...record, attempts: whole })
      }
      const history: History = {
        seed: chaosConfig.seed,
        startedAt,
        endedAt: clock.now(),
        limits: { pipelines: {}, runtimes: {} },
        secrets: [SECRET],
        operations: requests.operations,
        engines: records.flatMap((record) => tracesOf(record, works.get(record.id) ?? [], witness.spans)),
        builds: records,
        sightings,
        leftovers: left,
        texts: [
          { where: 'the log of the server', text: installation.server.log() },
          { where: 'the log of the agent', text: installation.agent.log() },
          {
            where: 'the events of the cluster',
            text: await cluster.kubectl('--namespace', namespace, 'get', 'events', '--output', 'yaml'),
          },
        ],
      }
      const twice = [...runTwice(witness.spans)].map((found) => ({ invariant: 4, ...found }))
      return [...checkInvariants(history), ...twice]
    },
    async [Symbol.asyncDispose]() {
      over.abort()
      await watching
      console.log(toReport(name, counts))
      await installation.close()
      await witness[Symbol.asyncDispose]()
    },
  }
  return stage
}

function documentOf(
  { images }: Installation,
  work: readonly StepWork[],
  command: (step: string, lines: number, pauseMs: number) => string,
): string {
  const steps = work.map(({ name, lines, pauseMs }) => [
    name,
    { image: images['TOOLS_IMAGE'], commands: [command(name, lines, pauseMs)] },
  ])
  return JSON.stringify({ version: '1.0', steps: Object.fromEntries(steps) })
}

/** Records the states of all builds a few times per second; failed reads are skipped. */
async function watch({ client }: Installation, sightings: Sightings, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const at = clock.now()
    for (const { id, status, reason } of await listBuilds(client, 2_000).catch(() => []))
      sightings.push({ at, buildId: id, status, ...defined({ reason }) })
    await clock.sleep(500, signal).catch(() => undefined)
  }
}

/** Reports a bound: without failures in N faults, fewer than 3/N of them fail, with 95 % confidence. */
function toReport(name: string, counts: Readonly<Record<string, number>>): string {
  const bound = (n: number): string => (n > 3 ? `, wrong in less than ${Math.ceil(300 / n)} %` : '')
  const landed = Object.entries(counts).map(([what, n]) => `${what}: ${n} landed${bound(n)}`)
  return `drills ${name}: seed ${chaosConfig.seed}; ${landed.join('; ') || 'nothing landed'}`
}
