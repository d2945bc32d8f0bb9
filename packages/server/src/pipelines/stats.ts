/** Statistics of a pipeline. `protocol/stats` has the rules. */
import { fault } from '@windlass/kit'
import { quantityValue } from '@windlass/manifests'
import { computeStats, type BuildSample, type PipelineStats, type StatsQuery, type StepSample } from '@windlass/protocol'
import type { z } from 'zod'
import type { App } from '../app.ts'
import { requireFound } from '../builds/lifecycle/require-found.ts'
import { readSpec } from '../builds/schedule/limits.ts'
import { findPipeline } from '../store/pipelines/pipelines.ts'
import { LEFT_OUT, listBuildWaits, listEndedBuilds, listEndedSteps, type EndedBuild } from '../store/builds/stats/ended-steps.ts'
import { listRuntimes } from '../store/runtimes/runtimes.ts'
import type { EndedStepRow, PipelineRow } from '../store/schema/schema.ts'
import { readPipelineSettings } from './settings.ts'

const DEFAULT_MS = 30 * 86_400_000
/** Builds and tries of steps that are read, the newest first. */
const MAX_BUILDS = 1000
const MAX_STEPS = 20_000

/** Returns the statistics of a pipeline in a time span. Throws `not-found`, `request-invalid`. */
export async function readPipelineStats(app: App, name: string, asked: z.output<typeof StatsQuery>): Promise<PipelineStats> {
  const { query } = app.store
  const pipeline = requireFound(await findPipeline(query, app.accountId, name), `pipeline "${name}"`)
  const to = asked.to ?? app.clock.now() + 1
  const from = asked.from ?? Math.max(0, to - DEFAULT_MS)
  if (from >= to) throw fault('request-invalid', { message: 'from: must be before `to`' })
  const { branch } = asked
  const found = await listEndedBuilds(query, {
    accountId: app.accountId,
    pipelineId: pipeline.id,
    branch,
    from,
    to,
    limit: MAX_BUILDS + 1,
  })
  const builds = found.slice(0, MAX_BUILDS)
  const ids = builds.map(({ id }) => id)
  const waits = new Map<string, Record<string, number>>()
  let hasAllSteps = true
  for (const { build_id: id, reason, waited_ms: ms } of await listBuildWaits(query, ids))
    if (reason === LEFT_OUT) hasAllSteps = false
    else waits.set(id, { ...waits.get(id), [reason]: Number(ms) })
  const { steps, isComplete } = await listEndedSteps(query, ids, MAX_STEPS)
  const samples = builds.map((build) => toBuildSample(build, waits.get(build.id) ?? {}))
  return {
    from,
    to,
    ...(branch !== undefined && { branch }),
    isExact: isComplete && hasAllSteps && found.length <= MAX_BUILDS,
    ...computeStats(samples, steps.map(toStepSample), await askedMemory(app, pipeline)),
  }
}

function toBuildSample(build: EndedBuild, waits: BuildSample['waits']): BuildSample {
  const { id, number, status, revision, created_at: createdAt, started_at: startedAt, finished_at: finishedAt } = build
  return {
    id,
    number,
    status: status === 'success' || status === 'terminated' ? status : 'error',
    revision: revision ?? undefined,
    createdAt,
    startedAt: startedAt ?? undefined,
    durationMs: startedAt === null || finishedAt === null ? undefined : Math.max(0, finishedAt - startedAt - build.paused_ms),
    waits,
  }
}

function toStepSample(row: EndedStepRow): StepSample {
  return {
    buildId: row.build_id,
    step: row.step,
    attempt: row.attempt,
    try: row.try,
    status: row.status,
    reason: row.reason ?? undefined,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    memoryBytes: row.memory_bytes ?? undefined,
  }
}

/** Returns the memory in bytes that a build of the pipeline asks for now: that of its machine, or what its runtime requests for the Docker daemon. */
async function askedMemory(app: App, pipeline: PipelineRow): Promise<number | undefined> {
  const { memory } = readPipelineSettings(pipeline).machine
  const runtimes = await listRuntimes(app.store.query, app.accountId)
  const runtime = runtimes.find((row) => (pipeline.runtime === null ? row.is_default === 1 : row.name === pipeline.runtime))
  const requested =
    memory ??
    (runtime === undefined ? undefined : readSpec(runtime).dockerDaemonScheduler.defaultDindResources.requests?.['memory'])
  const bytes = requested === undefined ? 0 : quantityValue(String(requested))
  return bytes === 0 ? undefined : bytes
}
