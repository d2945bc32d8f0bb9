/** The settings of a `kind: pipeline` document, without its steps. */
import { fault, type Problem } from '@windlass/kit'
import { isRecord } from '@windlass/kit/json'
import { documentKind, readPipelineDocument, type Diagnostic, type PipelineDocument } from '@windlass/pipeline'
import { PipelineSettings, type CronTrigger, type EventTrigger, type GitTrigger, type PipelineVariable } from '@windlass/protocol'
import type { z } from 'zod'
import type { PipelineRow } from '../store/schema/schema.ts'
import { readCronTriggers } from '../triggers/cron/read-cron-triggers.ts'
import { readEventTriggers } from '../triggers/events/read-event-triggers.ts'
import { readTriggers } from '../triggers/read-triggers.ts'
import { unstoredSecrets } from './mask-document.ts'
import { triggerWarnings } from './trigger-warnings.ts'

export interface WrittenSettings {
  readonly name: string
  readonly variables: readonly z.output<typeof PipelineVariable>[]
  readonly contexts: readonly string[]
  readonly runtime: string | undefined
  readonly concurrency: number | undefined
  readonly branchConcurrency: number | undefined
  readonly triggerConcurrency: number | undefined
  readonly priority: number
  /** Undefined if `problems` is not empty. */
  readonly settings: PipelineSettings | undefined
  /** Git triggers that start builds. */
  readonly triggers: readonly GitTrigger[]
  readonly cronTriggers: readonly CronTrigger[]
  /** Triggers for images, charts and ended builds. */
  readonly eventTriggers: readonly EventTrigger[]
  readonly problems: readonly Problem[]
  /** Warnings about values that are not stored and triggers that start no builds. */
  readonly warnings: readonly Diagnostic[]
}

/**
 * Quickly excludes most inline documents. Only the parser can tell whether `kind` is a key, because anchors, tags, `?`, a byte order mark and comments may
 * precede it, and escapes in double quotes can spell it.
 */
export function mayBePipeline(document: string): boolean {
  return /kind|\\[xuU\r\n]/.test(document)
}

/** Reads the settings of a `kind: pipeline` document. Undefined for an inline document, or one with errors, which `compile` reports. */
export function readSettings(document: string, file: string): WrittenSettings | undefined {
  if (!mayBePipeline(document) || documentKind(document) !== 'pipeline') return undefined
  const written = readPipelineDocument({ text: document, file }).document
  if (written === undefined) return undefined
  const { settings } = written
  const read = PipelineSettings.safeParse(toSettings(written))
  const { triggers, cronTriggers } = settings.kept
  const git = readTriggers(triggers)
  const cron = readCronTriggers(cronTriggers, triggers)
  const events = readEventTriggers(triggers, written.name)
  const source = { text: document, file }
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
    triggers: git.triggers,
    cronTriggers: cron.triggers,
    eventTriggers: events.triggers,
    warnings: [
      ...unstoredSecrets(source),
      ...triggerWarnings(source, 'triggers', [...git.problems, ...events.problems]),
      ...triggerWarnings(source, 'cronTriggers', cron.problems),
    ],
  }
}

/** Maps the fields of `spec` to the names of this project. Fields handled elsewhere, or not supported yet, stay in `kept`. */
function toSettings({ description, labels, settings }: PipelineDocument): unknown {
  const { options, terminationPolicy, permitRestartFromFailedSteps, clustersInfo, startedBy, isPublic, ...kept } = settings.kept
  const { cpu, memory, dindStorage: disk } = settings.runtimeEnvironment ?? {}
  const machine = Object.fromEntries(Object.entries({ cpu, memory, disk }).filter(([, value]) => value !== undefined))
  return {
    description,
    labels,
    options: readOptions(options),
    machine,
    terminationPolicy: terminationPolicy ?? [],
    permitRestartFromFailedSteps: permitRestartFromFailedSteps ?? undefined,
    startedBy: startedBy ?? [],
    isPublic: isPublic ?? false,
    mainClone: settings.mainClone,
    clusters: readClusters(clustersInfo),
    kept,
  }
}

/** In documents, `enableNotifications: false` also turns commit statuses off. */
function readOptions(options: unknown): unknown {
  if (!isRecord(options) || options['enableNotifications'] !== false) return options ?? {}
  return { commitStatus: false, ...options }
}

/** Returns the listed clusters. `injectAll` takes precedence over the list; without a list, `injectAll: false` means no clusters. */
function readClusters(info: unknown): unknown {
  if (typeof info !== 'object' || info === null || ('injectAll' in info && info.injectAll === true)) return undefined
  return 'clusters' in info ? info.clusters : 'injectAll' in info ? [] : undefined
}

/** Throws `pipeline-invalid` if a setting is invalid. */
export function requireSettings({ problems }: WrittenSettings): void {
  const [first] = problems
  if (first !== undefined)
    throw fault('pipeline-invalid', { message: `${first.path}: ${first.message}`, problems: [...problems] })
}

const DEFAULTS = PipelineSettings.parse({})

/** Reads the settings of a stored pipeline; the defaults if there is no pipeline. */
export function readPipelineSettings(pipeline: Pick<PipelineRow, 'settings'> | undefined): PipelineSettings {
  return pipeline === undefined ? DEFAULTS : PipelineSettings.parse(JSON.parse(pipeline.settings))
}
