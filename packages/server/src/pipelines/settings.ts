import { documentKind, readPipelineDocument } from '@windlass/pipeline'
import type { PipelineVariable } from '@windlass/protocol'
import type { z } from 'zod'

/** What a `kind: pipeline` document says about its pipeline. */
export interface WrittenSettings {
  readonly name: string
  readonly variables: readonly z.output<typeof PipelineVariable>[]
  readonly contexts: readonly string[]
  readonly runtime: string | undefined
  readonly concurrency: number | undefined
  readonly branchConcurrency: number | undefined
  readonly priority: number
}

/** The settings of a `kind: pipeline` document; undefined for an inline document, or one with errors (which `compile` tells). */
export function readSettings(document: string, file: string): WrittenSettings | undefined {
  if (!/(?:^|[{,])\s*["']?kind["']?\s*:/m.test(document) || documentKind(document) !== 'pipeline') return undefined
  const written = readPipelineDocument({ text: document, file }).document
  if (written === undefined) return undefined
  const { settings } = written
  return {
    name: written.name,
    variables: settings.variables.map(({ name, value, encrypted }) => ({ key: name, value, encrypted })),
    contexts: settings.contexts,
    runtime: settings.runtimeEnvironment?.name,
    concurrency: settings.concurrency,
    branchConcurrency: settings.branchConcurrency,
    priority: settings.priority,
  }
}
