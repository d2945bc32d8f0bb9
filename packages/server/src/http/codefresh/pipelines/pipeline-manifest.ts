/** The manifests with which public clients write pipelines and step types, and the documents that are stored for them. */
import { defined, fault } from '@windlass/kit'
import { Name } from '@windlass/protocol'
import { stringify } from 'yaml'
import { z } from 'zod'

/** Clients send back what they have read, so other fields are accepted and ignored. */
export const PipelineManifest = z.object({
  metadata: z.looseObject({
    name: Name,
    description: z.string().nullish(),
    labels: z.record(z.string(), z.unknown()).nullish(),
    revision: z.int().optional(),
  }),
  spec: z.looseObject({}).default({}),
})

export const StepTypeManifest = z.object({
  metadata: z.looseObject({ name: z.string().min(1).max(300) }),
  spec: z.looseObject({}),
})

type Doc = Readonly<Record<string, unknown>>

/** Returns the settings and steps of a manifest. Fields of the server, such as the id, are left out. */
export function toPipelineDocument({ metadata, spec }: z.output<typeof PipelineManifest>): Record<string, Doc | string> {
  const { name, description, labels } = metadata
  return {
    version: '1.0',
    kind: 'pipeline',
    metadata: { name, ...defined({ description: description ?? undefined, labels: labels ?? undefined }) },
    spec: withoutEmpty(spec),
  }
}

/** Fields of the metadata of step types that the server adds. */
const OF_SERVER: readonly string[] = ['created_at', 'updated_at', 'isPublic', 'official', 'accountId', 'id', '_id', 'latest']

/** Returns the manifest of a step type as it is stored. */
export function toStepTypeDocument({ metadata, spec }: z.output<typeof StepTypeManifest>): Record<string, Doc | string> {
  const own = Object.fromEntries(Object.entries(metadata).filter(([key]) => !OF_SERVER.includes(key)))
  return { version: '1.0', kind: 'step-type', metadata: withoutEmpty(own), spec }
}

function withoutEmpty(fields: Doc): Doc {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== null && !(Array.isArray(value) && value.length === 0)),
  )
}

const MAX_LEVELS = 100
/** Larger documents are stored as JSON, which is YAML too: a writer of YAML would block the event loop. Characters. */
const MAX_YAML_CHARS = 65_536

/** Returns the text of a document. Throws `request-invalid` for one that is nested too deeply. */
export function toText(document: Doc): string {
  if (isDeep(document, MAX_LEVELS))
    throw fault('request-invalid', { message: 'The document is nested too deeply.', hint: `Use at most ${MAX_LEVELS} levels.` })
  const json = JSON.stringify(document, null, 2)
  return json.length > MAX_YAML_CHARS ? json : stringify(document, { lineWidth: 0, aliasDuplicateObjects: false })
}

/** Returns true if the value has more levels than `levels`. */
function isDeep(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((inside) => isDeep(inside, levels - 1))
}
