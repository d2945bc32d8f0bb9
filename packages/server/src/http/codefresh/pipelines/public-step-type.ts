/** The shape in which public clients read a step type. */
import type { StepTypeResource } from '@windlass/protocol'
import type { App } from '../../../app.ts'
import { readMapping } from '../read-mapping.ts'

/** Converts a step type that was read with its manifest. Schemas of arguments and outputs are JSON text. */
export async function toPublicStepType(app: App, stepType: StepTypeResource): Promise<Record<string, unknown>> {
  return toPublicStepShape(stepType, await readMapping(app, stepType.manifest ?? ''))
}

/** Converts a step type whose manifest is already parsed. */
export function toPublicStepShape(
  stepType: StepTypeResource,
  written: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const { name, version, builtIn, createdAt, updatedAt } = stepType
  const { metadata, spec } = written
  return {
    version: '1.0',
    kind: 'step-type',
    metadata: {
      ...Object(metadata),
      name,
      version,
      // Included step types are those of every account.
      isPublic: builtIn,
      official: builtIn,
      created_at: new Date(createdAt).toISOString(),
      updated_at: new Date(updatedAt).toISOString(),
    },
    spec: Object.fromEntries(
      Object.entries(Object(spec)).map(([key, value]) => [
        key,
        (key === 'arguments' || key === 'returns') && typeof value === 'object' ? JSON.stringify(value) : value,
      ]),
    ),
  }
}
