/** `run --local`: runs a document on the Docker of this machine, without a server. */
import { basename, resolve } from 'node:path'
import { openDocker, runLocally, type Docker, type LogFrame, type Sink } from '@windlass/engine'
import { sha256 } from '@windlass/kit'
import type { Diagnostic } from '@windlass/pipeline'
import { emptySnapshot, fold, isStepFact, resume, type Plan, type Snapshot, type StepFact } from '@windlass/plan'
import type { AttemptOutcome, EngineEvent } from '@windlass/protocol'
import { decideApproval, type ApprovalRules } from './approvals.ts'
import type { Repository } from './git-facts.ts'
import type { LocalPlan } from '@windlass/pipeline'
import { beginRun, type LocalRun, type LocalVolume } from './runs/local-runs.ts'
import { GITHUB, prepareLocalBuild, type PreparedBuild } from './prepare-local-build.ts'
import { readClusters } from './cluster-access.ts'
import { readRegistryLogins } from './registry-logins.ts'
import type { LocalBuildOptions } from './local-build-options.ts'

/** Receives events and output while the build runs; must not throw. */
export interface LocalWatcher {
  begin(build: {
    readonly plan: Plan
    readonly volume: LocalVolume
    readonly repository: Repository | undefined
    readonly warnings: readonly Diagnostic[]
  }): void
  event(event: EngineEvent): void
  /** The next frame is sent when the promise has resolved. */
  output(frame: LogFrame): Promise<void>
}

export interface LocalBuild {
  readonly plan: Plan
  readonly snapshot: Snapshot
  /** Step -> how to fix its failure. */
  readonly hints: Readonly<Record<string, string>>
  readonly outcome: AttemptOutcome
  readonly branch: string | undefined
  readonly revision: string | undefined
  /** Epoch milliseconds. */
  readonly createdAt: number
  readonly startedAt: number
  readonly finishedAt: number
}

const LOG_BYTES = 1_073_741_824
const STOP_GRACE_MS = 10_000

/** Runs a build to its end. Throws `docker-unreachable`, and `pipeline-invalid` with the diagnostics before anything is started. */
export async function runLocalBuild(options: LocalBuildOptions, watcher: LocalWatcher): Promise<LocalBuild> {
  const { clock } = options
  const connecting = openDocker({ env: options.environment })
  connecting.catch(() => undefined)
  try {
    const prepared = await prepareLocalBuild(options)
    const docker = await connecting
    const { stateDir } = options
    const run = await beginRun({ docker, stateDir, buildId: prepared.buildId, volumeName: volumeNameOf(options), clock })
    try {
      return await execute(options, { prepared, docker, run, watcher })
    } finally {
      // What could not be removed stays recorded, and the next run removes it.
      await run.end().catch((error: unknown) => options.log.warn({ err: error }, 'cleanup failed'))
    }
  } finally {
    await connecting.then(
      (docker) => docker.close(),
      () => undefined,
    )
  }
}

interface Execution {
  readonly prepared: PreparedBuild
  readonly docker: Docker
  readonly run: LocalRun
  readonly watcher: LocalWatcher
}

async function execute(options: LocalBuildOptions, { prepared, docker, run, watcher }: Execution): Promise<LocalBuild> {
  const { clock, log, cancel, workTree, skip } = options
  const { local, branch, revision, createdAt } = prepared
  const { spoolDir, volume } = run
  watcher.begin({ plan: local.plan, volume, repository: prepared.repository, warnings: prepared.warnings })
  const record = openRecord(local.plan, watcher)
  const startedAt = clock.now()
  const rules: ApprovalRules = {
    approve: options.approve ?? [],
    deny: options.deny ?? [],
    ask: options.ask,
    initiator: options.environment['USER'] ?? 'local',
  }
  const runAttempt = (attempt: number): Promise<AttemptOutcome> =>
    runLocally({
      input: {
        ...toInput(options, { ...prepared, snapshot: record.state().snapshot, volume }),
        attempt,
        ...(attempt > 1 && { resume: { cause: 'approval' as const } }),
      },
      docker,
      ...(options.debug !== undefined && { debug: { onHeld: options.debug.onHeld } }),
      sink: record.sinkOf(attempt),
      spoolDir,
      clock,
      log,
      cancel,
      source: workTree === undefined ? undefined : { path: resolve(workTree) },
      only: options.only.length === 0 ? undefined : options.only,
      skip,
    })
  let outcome = await runAttempt(1)
  for (let attempt = 2; outcome.status === 'pending-approval'; attempt += 1) {
    const decided = await decideApproval(rules, { plan: local.plan, snapshot: record.state().snapshot, clock, cancel })
    if (decided !== undefined) record.decide(decided)
    // A build that is terminated while it waits still has to run its last hooks.
    outcome = await runAttempt(attempt)
  }
  return { plan: local.plan, ...record.state(), outcome, branch, revision, createdAt, startedAt, finishedAt: clock.now() }
}

/** Returns the name of the volume that is kept between runs of a document. A concurrent run uses another volume. */
export function volumeNameOf({ documentPath }: Pick<LocalBuildOptions, 'documentPath'>): string {
  const path = resolve(documentPath ?? '.')
  const name = basename(path)
    .replace(/\.ya?ml$/, '')
    .replace(/[^A-Za-z0-9_.-]+/g, '-')
    .slice(0, 40)
  return `windlass-local-${name}-${sha256(path).slice(0, 10)}`
}

interface Parts {
  readonly buildId: string
  readonly local: LocalPlan
  readonly snapshot: Snapshot
  readonly volume: LocalVolume
  readonly repository: Repository | undefined
}

function toInput(
  options: LocalBuildOptions,
  { buildId, local, snapshot, volume, repository }: Parts,
): Parameters<typeof runLocally>[0]['input'] {
  return {
    buildId,
    attempt: 1,
    plan: local.plan,
    snapshot,
    secrets: { ...local.secrets },
    git: [{ context: 'local', isDefault: true, url: repository?.host ?? GITHUB }],
    registries: readRegistryLogins(options.environment),
    clusters: readClusters(local.plan, options.environment),
    limits: {
      stepLogBytes: options.stepLogBytes ?? LOG_BYTES,
      buildLogBytes: Math.max(LOG_BYTES, options.stepLogBytes ?? 0),
      heartbeatMs: 10_000,
      stopGraceMs: STOP_GRACE_MS,
    },
    userAccess: true,
    resetVolume: options.resetVolume,
    noCache: options.noCache,
    ...(options.debug !== undefined && { debug: options.debug.settings }),
    volumeName: volume.name,
    keepVolume: volume.heldBy === undefined,
  }
}

interface BuildRecording {
  /** Returns the sink of one attempt. */
  sinkOf(attempt: number): Sink
  /** Records the decision about an approval. */
  decide(fact: Extract<StepFact, { type: 'step.decided' }>): void
  state(): Pick<LocalBuild, 'snapshot' | 'hints'>
}

/** Collects the data of the final result, and forwards each event and frame to the watcher exactly once. */
function openRecord(plan: Plan, watcher: LocalWatcher): BuildRecording {
  let snapshot = emptySnapshot(plan)
  const hints: Record<string, string> = {}
  function sinkOf(attempt: number): Sink {
    let lastSeq = 0
    const ends = new Map<string, number>()
    return {
      async events(events) {
        for (const event of events) {
          if (event.seq <= lastSeq) continue
          lastSeq = event.seq
          if (event.type === 'attempt.started' && attempt > 1)
            snapshot = resume(plan, snapshot, { cause: 'approval', volumeKept: event.volumeKept })
          if (isStepFact(event)) snapshot = fold(snapshot, event)
          if (event.type === 'step.finished' && event.hint !== undefined) hints[event.step] = event.hint
          watcher.event(event)
        }
        return lastSeq
      },
      async frame(frame) {
        const end = ends.get(frame.stream) ?? 0
        const next = frame.offset + frame.bytes.byteLength
        if (frame.offset > end || next <= end) return end
        // A copy, because the next frame reuses the memory, and watchers reorder frames before they show them.
        await watcher.output({ ...frame, offset: end, bytes: Uint8Array.from(frame.bytes.subarray(end - frame.offset)) })
        ends.set(frame.stream, next)
        return next
      },
      isFinal: (error) => !error.retryable,
    }
  }
  return {
    sinkOf,
    decide(fact) {
      snapshot = fold(snapshot, fact)
      watcher.event({ ...fact, seq: 1 })
    },
    state: () => ({ snapshot, hints }),
  }
}
