/** What a `kind: pipeline` document says about its pipeline beside its steps. */
import { fault, type Problem } from '@windlass/kit'
import { documentKind, readPipelineDocument, type PipelineDocument } from '@windlass/pipeline'
import { PipelineSettings, type PipelineVariable } from '@windlass/protocol'
import type { z } from 'zod'
import type { PipelineRow } from '../store/schema.ts'

export interface WrittenSettings {
  readonly name: string
  readonly variables: readonly z.output<typeof PipelineVariable>[]
  readonly contexts: readonly string[]
  readonly runtime: string | undefined
  readonly concurrency: number | undefined
  readonly branchConcurrency: number | undefined
  readonly triggerConcurrency: number | undefined
  readonly priority: number
  /** Undefined when `problems` says why. */
  readonly settings: PipelineSettings | undefined
  readonly problems: readonly Problem[]
}

/** The settings of a `kind: pipeline` document; undefined for an inline document, or one with errors (which `compile` tells). */
export function readSettings(document: string, file: string): WrittenSettings | undefined {
  if (!/(?:^|[{,])\s*["']?kind["']?\s*:/m.test(document) || documentKind(document) !== 'pipeline') return undefined
  const written = readPipelineDocument({ text: document, file }).document
  if (written === undefined) return undefined
  const { settings } = written
  const read = PipelineSettings.safeParse(toSettings(written))
  return {
    name: written.name,
    variables: settings.variables.map(({ name, value, encrypted }) => ({ key: name, value, encrypted })),
    contexts: settings.contexts,
    runtime: settings.runtimeEnvironment?.name,
    concurrency: settings.concurrency,
    branchConcurrency: settings.branchConcurrency,
    triggerConcurrency: settings.triggerConcurrency,
    priority: settings.priority,
    settings: read.data,
    problems: (read.error?.issues ?? []).map(({ path, message }) => ({
      path: `spec.${path.map((part) => (part === 'machine' ? 'runtimeEnvironment' : String(part))).join('.')}`,
      message,
      file,
      line: 1,
      column: 1,
      severity: 'error',
      code: 'wrong-type',
    })),
  }
}

/** The fields of `spec` by our names. What is acted on elsewhere, or not yet, stays under `kept`. */
function toSettings({ description, labels, settings }: PipelineDocument): unknown {
  const { options, terminationPolicy, permitRestartFromFailedSteps, clustersInfo, ...kept } = settings.kept
  const { cpu, memory, dindStorage: disk } = settings.runtimeEnvironment ?? {}
  const machine = Object.fromEntries(Object.entries({ cpu, memory, disk }).filter(([, value]) => value !== undefined))
  return {
    description,
    labels,
    options: options ?? {},
    machine,
    terminationPolicy: terminationPolicy ?? [],
    permitRestartFromFailedSteps: permitRestartFromFailedSteps ?? undefined,
    clusters: readClusters(clustersInfo),
    kept,
  }
}

/** `injectAll` wins over the list; without a list, `injectAll: false` means none. */
function readClusters(info: unknown): unknown {
  if (typeof info !== 'object' || info === null || ('injectAll' in info && info.injectAll === true)) return undefined
  return 'clusters' in info ? info.clusters : 'injectAll' in info ? [] : undefined
}

/** Throws `pipeline-invalid` when a setting has a wrong shape. */
export function requireSettings({ problems }: WrittenSettings): void {
  const [first] = problems
  if (first !== undefined)
    throw fault('pipeline-invalid', { message: `${first.path}: ${first.message}`, problems: [...problems] })
}

const none = PipelineSettings.parse({})

/** The settings of a stored pipeline; those of one that says nothing when there is none. */
export function readPipelineSettings(pipeline: Pick<PipelineRow, 'settings'> | undefined): PipelineSettings {
  return pipeline === undefined ? none : PipelineSettings.parse(JSON.parse(pipeline.settings))
}
