/** The body that stores a pipeline again. */
import type { Pipeline, PipelineInput } from '@windlass/protocol'

/** Fields of a pipeline that a document can write, by the field of `spec`. */
const WRITTEN = {
  variables: { variables: [] },
  contexts: { contexts: [] },
  runtimeEnvironment: { runtime: undefined },
  concurrency: { concurrency: undefined },
  branchConcurrency: { branchConcurrency: undefined },
  triggerConcurrency: { triggerConcurrency: undefined },
  priority: { priority: 0 },
} as const satisfies Readonly<Record<string, Partial<Record<keyof PipelineInput, unknown>>>>

/** Returns the body that stores a pipeline again. What its document wrote is left to the next document. */
export function toInput(pipeline: Pipeline, written: readonly string[] = []): PipelineInput {
  const { name, document, variables, contexts, runtime, concurrency, branchConcurrency, triggerConcurrency, priority, settings } =
    pipeline
  const all = {
    name,
    document,
    variables,
    contexts,
    runtime,
    concurrency,
    branchConcurrency,
    triggerConcurrency,
    priority,
    settings,
  }
  const left = Object.entries(WRITTEN).flatMap(([key, fields]) => (written.includes(key) ? [fields] : []))
  return Object.assign(all, ...left) as PipelineInput
}
