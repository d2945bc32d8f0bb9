/** Compiles a document and runs it with the engine on this machine's Docker, as `run --local` does. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { newId, silentLog, systemClock, type Clock } from '@windlass/kit'
import { builtinVariables, emptySnapshot, fold, isStepFact, type Plan, type Snapshot, type VariableLayer } from '@windlass/plan'
import type { AttemptOutcome, EngineEvent } from '@windlass/protocol'
import { catalogOf, compile, toCatalogEntry } from '../../../pipeline/src/index.ts'
import { openDocker, runLocally, type AttemptInput, type DebugLink, type Docker, type LocalSource } from '../../src/index.ts'
import { image } from './images.ts'

export interface PipelineRun {
  readonly buildId: string
  readonly outcome: AttemptOutcome
  readonly snapshot: Snapshot
  readonly events: readonly EngineEvent[]
  /** Output of a step without the engine's own lines. */
  output(step: string): string
  /** The complete log of a step. */
  log(step: string): string
  status(step: string): string | undefined
}

export interface RunOptions {
  readonly input?: Partial<AttemptInput>
  readonly variables?: Readonly<Record<string, string>>
  readonly secrets?: Readonly<Record<string, string>>
  readonly layers?: readonly VariableLayer[]
  readonly branch?: string
  /** Manifests of step types that the document uses. */
  readonly stepTypes?: readonly string[]
  readonly source?: LocalSource
  readonly cancel?: AbortSignal
  readonly debug?: DebugLink
  /** Another connection to the daemon. */
  readonly dockerEnv?: Readonly<Record<string, string>>
  readonly onOutput?: (step: string, text: string) => unknown
  readonly onEvent?: (event: EngineEvent) => unknown
  readonly clock?: Clock
}

let shared: Docker | undefined

export async function testDocker(): Promise<Docker> {
  shared ??= await openDocker({ env: process.env })
  return shared
}

/** Replaces `$SHELL`, `$DEBIAN` and the like with image names. */
export function document(text: string): string {
  return text.replace(/\$(SHELL|DEBIAN|NODE|TOOLS)\b/g, (_, name: string) => image(name.toLowerCase()))
}

export function compilePlan(text: string, layers: readonly VariableLayer[], stepTypes: readonly string[] = []): Plan {
  const catalog = catalogOf(stepTypes.flatMap((one) => toCatalogEntry({ text: document(one), file: 'step-type.yml' }) ?? []))
  const { plan, problems } = compile({ text: document(text), file: 'pipeline.yml' }, { variables: layers, stepTypes: catalog })
  if (plan === undefined) throw new Error(problems.map(({ message }) => message).join('; '))
  return plan
}

export async function runPipeline(text: string, options: RunOptions = {}): Promise<PipelineRun> {
  const docker = options.dockerEnv === undefined ? await testDocker() : await openDocker({ env: options.dockerEnv })
  const buildId = options.input?.buildId ?? newId(Date.now())
  const plan = compilePlan(text, layersOf(options, buildId), options.stepTypes)
  const spoolDir = await mkdtemp(join(tmpdir(), 'engine-test-'))
  const input = { ...toInput(plan, buildId, options), ...options.input }
  const record = openRecord(input.snapshot, options)
  try {
    const outcome = await runLocally({
      input,
      docker,
      sink: record.sink,
      spoolDir,
      clock: options.clock ?? systemClock,
      log: silentLog,
      cancel: options.cancel ?? new AbortController().signal,
      debug: options.debug,
      source: options.source,
      toolsImage: image('tools'),
    })
    return { buildId, outcome, ...record.result() }
  } finally {
    await rm(spoolDir, { recursive: true, force: true })
    // A volume that the test named belongs to the test.
    if (options.input?.volumeName === undefined)
      for (const name of [input.volumeName, `windlass-build-${buildId}`]) await removeVolume(name)
  }
}

/** A volume that a lost daemon still uses is left to the test. */
async function removeVolume(name: string): Promise<void> {
  await (await testDocker()).removeVolume(name).catch(() => undefined)
}

function layersOf({ variables = {}, secrets = {}, layers = [], branch }: RunOptions, buildId: string): VariableLayer[] {
  const plain = (values: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [name, { value }]))
  const system = builtinVariables({ buildId, createdAt: Date.now(), trigger: { kind: 'manual' }, git: { branch } })
  return [
    { level: 'system', variables: plain(system) },
    ...layers,
    {
      level: 'build',
      variables: { ...plain(variables), ...Object.fromEntries(Object.keys(secrets).map((name) => [name, { secret: name }])) },
    },
  ]
}

/** Returns the input of a first attempt with its own volume. */
export function toInput(plan: Plan, buildId: string, { secrets = {} }: RunOptions = {}): AttemptInput {
  return {
    buildId,
    attempt: 1,
    plan,
    snapshot: emptySnapshot(plan),
    secrets: { ...secrets },
    git: [],
    registries: [],
    limits: { stepLogBytes: 1_073_741_824, buildLogBytes: 1_073_741_824, heartbeatMs: 10_000, stopGraceMs: 2_000 },
    userAccess: true,
    resetVolume: false,
    noCache: false,
    volumeName: `windlass-test-${buildId}`,
  }
}

function openRecord(initial: Snapshot, { onOutput, onEvent }: RunOptions) {
  let snapshot = initial
  const events: EngineEvent[] = []
  const streams = new Map<string, Buffer[]>()
  const sink = {
    async events(batch: readonly EngineEvent[]) {
      for (const event of batch) {
        events.push(event)
        onEvent?.(event)
        if (isStepFact(event)) snapshot = fold(snapshot, event)
      }
      return batch.at(-1)?.seq ?? 0
    },
    async frame({ stream, offset, bytes }: { stream: string; offset: number; bytes: Uint8Array }) {
      const parts = streams.get(stream) ?? []
      streams.set(stream, parts)
      parts.push(Buffer.from(bytes))
      onOutput?.(stream.replace(/^step\//, ''), Buffer.from(bytes).toString('utf8'))
      return offset + bytes.byteLength
    },
    isFinal: () => true,
  }
  const log = (step: string): string =>
    Buffer.concat(streams.get(step === 'system' ? step : `step/${step}`) ?? []).toString('utf8')
  return {
    sink,
    result: () => ({
      snapshot,
      events,
      log,
      output: (step: string) => log(step).replace(/^\[SYSTEM\] .*\n/gm, ''),
      status: (step: string) => snapshot.steps[step]?.status,
    }),
  }
}
