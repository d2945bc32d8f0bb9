/** The shape in which public clients read a pipeline: settings and steps together in `spec`. */
import { defined } from '@windlass/kit'
import type { Pipeline } from '@windlass/protocol'
import type { App } from '../../../app.ts'
import { readMapping } from '../read-mapping.ts'

/** Converts a stored pipeline. Values of encrypted variables are masked. A document with errors has no steps. */
export async function toPublicPipeline(app: App, pipeline: Pipeline): Promise<Record<string, unknown>> {
  return toPublicShape(app, pipeline, await readMapping(app, pipeline.document))
}

/** Converts a pipeline whose document is already parsed. */
export function toPublicShape(app: App, pipeline: Pipeline, written: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { id, name, project, revision, createdAt, updatedAt, settings } = pipeline
  const isManifest = written['kind'] === 'pipeline'
  const metadata: Record<string, unknown> = isManifest ? Object(written['metadata']) : {}
  const spec: Record<string, unknown> = isManifest ? Object(written['spec']) : written
  return {
    version: '1.0',
    kind: 'pipeline',
    metadata: {
      ...defined({ description: settings.description }),
      labels: settings.labels ?? {},
      ...metadata,
      name,
      id,
      ...defined({ project }),
      accountId: app.accountId,
      revision,
      created_at: new Date(createdAt).toISOString(),
      updated_at: new Date(updatedAt).toISOString(),
    },
    spec: {
      triggers: [],
      ...(!isManifest && settingsOf(settings)),
      ...limitsOf(pipeline),
      ...spec,
      variables: pipeline.variables,
      contexts: pipeline.contexts,
    },
  }
}

/** Returns the settings that a document has or that the pipeline was stored with. */
function limitsOf(pipeline: Pipeline): Record<string, unknown> {
  const { runtime, priority, concurrency, branchConcurrency, triggerConcurrency, settings } = pipeline
  const { cpu, memory, disk } = settings.machine
  const runtimeEnvironment = defined({ name: runtime, cpu, memory, dindStorage: disk })
  return {
    ...defined({ concurrency, branchConcurrency, triggerConcurrency }),
    ...(priority !== 0 && { priority }),
    ...(Object.keys(runtimeEnvironment).length > 0 && { runtimeEnvironment }),
  }
}

/** Returns the settings of an inline document that differ from the defaults, in the words of `kind: pipeline` documents. */
function settingsOf(settings: Pipeline['settings']): Record<string, unknown> {
  const { options, terminationPolicy, permitRestartFromFailedSteps, startedBy, isPublic, mainClone, clusters } = settings
  return {
    ...defined({ permitRestartFromFailedSteps }),
    ...(Object.values(options).some(Boolean) && { options }),
    ...(terminationPolicy.length > 0 && { terminationPolicy }),
    ...(startedBy.length > 0 && { startedBy }),
    ...(isPublic && { isPublic }),
    ...(Object.keys(mainClone).length > 0 && { mainClone }),
    ...(clusters && { clustersInfo: { injectAll: false, clusters } }),
  }
}
